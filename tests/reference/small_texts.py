"""Texts for small_functions.py: pairs for BLEU, sentences for the English normaliser."""

# (hypothesis, reference)
BLEU_PAIRS = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("the cat sat on the mat", "the cat is on the mat"),
    ("the the the the the the the", "the cat is on the mat"),
    ("", "the cat is on the mat"),
    ("the cat is on the mat", ""),
    ("", ""),
    (" ", "one"),
    ("one", "one"),
    ("one", "two"),
    ("one two", "one two"),
    ("one two three", "one two three"),
    ("one two three", "one two four"),
    ("one two three four", "one two three four"),
    ("one two three four", "one two three five"),
    ("one two three four five", "four five one two three"),
    ("a b c d e f g h", "a b c d"),
    ("a b c d", "a b c d e f g h"),
    ("The weather is nice today.", "The weather is nice today ."),
    ("The weather is nice today", "the weather is nice today"),
    ("It's five o'clock, isn't it?", "It is five o'clock, is it not?"),
    ("Please add 2 eggs, 1.5 cups of milk and 3,000 g of flour!", "Please add 2 eggs."),
    ("price: $5.00 (five dollars)", "price: $ 5.00 ( five dollars )"),
    ("e-mail me at me@example.org", "email me at me@example.org"),
    ("well-known state-of-the-art", "well known state of the art"),
    ("10-20 people", "10 - 20 people"),
    ("version 1.2.3", "version 1.2.4"),
    ("&quot;yes&quot; &amp; &lt;no&gt;", "\"yes\" & <no>"),
    ("hyphen-\nated line", "hyphenated line"),
    ("tab\tand  two   blanks", "tab and two blanks"),
    ("caf\u00e9 na\u00efve r\u00e9sum\u00e9 au lait", "cafe naive resume au lait"),
    ("caf\u00e9 na\u00efve r\u00e9sum\u00e9 au lait",
     "caf\u00e9 na\u00efve r\u00e9sum\u00e9 au lait"),
    ("\u4f60\u597d \u4e16\u754c", "\u4f60\u597d \u4e16\u754c"),
    ("\u4f60\u597d\u4e16\u754c", "\u4f60\u597d \u4e16\u754c"),
    ("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
     "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440!"),
    ("\u201cquoted\u201d \u2014 and \u2018single\u2019\u2026", "\"quoted\" - and 'single'..."),
    ("emoji \U0001f600 here now", "emoji \U0001f600 here now"),
    ("turn on the kitchen light please", "turn on the light in the kitchen please"),
    ("what time is it in berlin right now", "what time is it now in berlin"),
    ("i would like to book a table for two at seven", "i would like to book a table for two"),
    ("no", "yes i think so"),
    ("sure, playing some jazz for you now", "sure, playing some jazz for you"),
    ("Der Zug f\u00e4hrt um 8:15 Uhr ab.", "Der Zug f\u00e4hrt um 8.15 Uhr ab."),
    ("<unk> word [noise] (laugh)", "word"),
    ("a.b.c. U.S.A. 3.5.", "a.b.c. U.S.A. 3.5 ."),
]

SENTENCES = """
Hello, world!
Okay.
um I think uh we should hmm go mm mhm mmm now
I'm sure you're right, he's late, she'd said they'll come, we've won't can't shan't
let's gonna wanna gotta i'ma imma woulda coulda shoulda ma'am
mr smith and mrs jones met dr. brown on st. john's street near mt. hood
prof. lee, capt. kirk, gov. ann, ald. bob, gen. grant, sen. poe, rep. roe, pres. doe, rev. king
hon. judge asst. coach assoc. lt. col. jr. sr. esq.
I'd been there; he'd gone; they'd had it; she's been; it's got; that's been done
I could've known, you should've told me, who's there?
y'all ain't it's aren't don't doesn't didn't isn't wasn't weren't haven't hasn't hadn't
What's 'quoted' and "double quoted" text?
[music] (laughs) <unk> nothing else
a [nested (thing)] here and (one more)
zero
one
twenty one
twenty-one
one hundred
one hundred and five
two hundred thirty four
one thousand
one thousand two hundred thirty four
nineteen eighty four
twenty twenty six
two thousand and twenty five
three million five hundred thousand
one billion two hundred million thirty thousand and six
one oh one
one o one
double oh seven
triple five
double seven eight
nine one one
five five five one two three four
one two three four five six seven eight nine ten eleven twelve thirteen
first second third fourth fifth sixth seventh eighth ninth tenth
twenty first
twenty second of may
thirty third
one hundredth
the nineteen sixties
the 1960s and the sixties
1960's
in the twenties
the fifties and sixties
two and a half
three and a half million
one half
a half
two thirds
one point five
three point one four one five nine
point five
zero point two five
minus five
negative twenty degrees
plus seven
five percent
ten per cent
50 %
50% of 200
twenty dollars
twenty five dollars and fifty cents
five dollars and ten cents
$5
$20 million
$3.50
$1,000,000
five cents
fifty pounds
twenty euros
one hundred yen
seventy five pence
\u20ac5 and \u00a35 and \u00a31.50
one dollar
two dollars
10,000 people
1,234,567
1.000,5
3.14159
0.5
.5
007
1st 2nd 3rd 4th 11th 21st 22nd 101st
a 2nd 3rd party
two 2s and three 3's
six s
one s and two s
ones and twos
the one and only
no one knows anyone
someone said one thing
one of these
this one is mine and that one is yours
at five thirty
five o'clock
half past ten
quarter to nine
7:30 pm
10:05
2026-07-21
12/25/2020
call 555-1234
call one eight hundred five five five
room 101b
b2b c3po r2d2
mp3 and h264
covid-19
3d 4k 5g
10km 5 kg 100m
100 metres
eighty kilometres per hour
twenty four seven
one in a million
hundreds of thousands
a hundred
a thousand and one nights
several hundred million
one hundred thousand
hundred
thousand two hundred
one hundred one hundred
twenty thirty
ten twenty
twenty ten
sixteen hundred
fifteen hundred and sixty
two hundred million and one
five hundred thousand million
twelve point five million dollars
1.5 million dollars
2 million
2 hundred
3 thousand
20 five
5 hundred and six
colour honour favourite centre theatre metre litre
analyse organise recognise realise apologise
travelled cancelled modelling labelled
defence licence practise grey cheque tyre
programme catalogue dialogue aeroplane
mum's colour is grey
caf\u00e9 na\u00efve \u00fcber r\u00e9sum\u00e9 fa\u00e7ade
\u0153uvre \u00e6on \u00f8re \u00df \u0142
\u201ccurly\u201d \u2018quotes\u2019 \u2014 dash \u2013 en\u2026
it\u2019s a don\u2019t
\u4f60\u597d \u4e16\u754c
\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440
emoji \U0001f600 here
a.b.c. u.s.a. e.g. i.e. etc.
hello...world
hello , world . how are you ?
back/slash and under_score and at@sign and hash#tag
tom & jerry
1 + 1 = 2
50 cents
\u00a25
5\u00a2
one cent
$2.05 and $0.99
two dollars five cents
-5 degrees
+49 123 456
5 - 3
minus
plus
percent
point
and a half
five and
and five
double
triple
double double
oh
o
oh no
oh five
o'clock
the o and the oh
zero zero seven
ten oh five
one hundred percent
  leading and   multiple   blanks  
UPPER CASE TEXT
MiXeD CaSe 12 ABC
"""


def sentences() -> list:
    return [line for line in SENTENCES.split("\n") if line] + ["", " ", "\u00bd cup", "x\u00b2"]
