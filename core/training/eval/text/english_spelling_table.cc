// Made by tests/reference/english_spelling.py; facts from the word list of
// whisper_normalizer 0.1.15 (MIT licence, 2023 Kurian Benoy).
#include "eval/text/english_spelling.h"

namespace s2s {

// One family per line: British part, American part, endings, stems. "-" means empty.
const char* const kSpellingFamilies = R"(
- a | eological | arch ; - e | red | cent louv ; - e | - | battleax ; - e | red ring | reconnoit ;
- iz | zazz | p ; - l | - s | appal distil enrol enthral instil ; - l | - ment ments s | instal ;
- l | - ment s | fulfil ; - l | ated | crenel ; - l | ation ations | cancel ; - o | ve ved ves |
beho ; - u | ge ged ges ging | ga ; - u | r | glamo ; - ue | - s | travelog ; a - | utist utists |
fl ; ae e | mia | leuk tox ; ae e | val | medi prim ; ae e | a as | bougainvill ; ae e | cal ces |
f ; ae e | cological cologist cologists cology | gyn ; ae e | derast derasts diatric diatrician
diatricians diatrics dophile dophiles dophilia | p ; ae e | dia dias dic | encyclop ; ae e | dic
dics | orthop ; ae e | matological matologist matologists matology moglobin mophilia mophiliac
mophiliacs morrhage morrhaged morrhages morrhaging morrhoids | h ; ae e | mia mic sthesia sthetic
sthetics sthetist sthetists sthetize sthetized sthetizes sthetizing | an ; ae e | olithic
ontologist ontologists ontology | pal ; ae e | ologically ologist ologists ology | arch ; ae e |
on ons sthete sthetes sthetic sthetically sthetics tiology | - ; ae e | ra ras | chim ; ae e |
sarean sareans | c ; ae e | sidium sidiums | pr ; aesthetis esthetiz | e ed es ing | an ; bre ber
| - s | cali sa ; bre ber | - | som ; bre ber | - glass s | fi ; c k | - s | dis videodis ; c k |
eptic eptical eptically epticism eptics | s ; c s | ing | licen ; e - | ing | ag bing glu ; e - |
y | phon stor ; e - | - | ax ; e - | able | lik ; e - | ment | judg ; e i | fact facts | art ; ero
ir | plane planes | a ; ey ie | s | stor ; fe - | - s | pouf ; g - | on ons | wag ; gao jai | l
lbird lbirds lbreak lbreaks led ler lers ling ls | - ; grey gray | - ed ing ish ness s | - ; gue g
| - s | analo catalo dialo epilo monolo prolo ; h - | - | sheik ; h - | urt urts | yog ; ho - |
urt urts | yog ; i - | um | alumin ; i y | psies | g ; is iz | e ed es ing | accessor anglic
antagon apolog author bapt bastard bowdler brutal canal cannibal canon capital caramel carbon
categor cauter central character circular civil collectiv commercial compartmental computer
conceptual contextual criminal critic custom demon deodor depersonal deput digit econom editorial
empath emphas energ epitom eulog evangel exorc factor fantas femin galvan ghetto glamor homogen
human hybrid hypnot hypothes idol immortal individual industrial initial intellectual italic item
jeopard legitim local magnet memorial memor mesmer metabol militar minim modern moral optim ostrac
overemphas particular penal personal philosoph plagiar propagand public radical random revital
revolution rhapsod romantic sanit satir scandal scrutin sensational sensit sentimental sermon
signal sodom solemn summar symbol tempor tender terror theor traumat trivial tyrann vandal verbal
; is iz | ation e ed es ing | acclimat crystall decentral decriminal dehuman demilitar demobil
democrat demoral denational desensit destabil extempor familiar final formal fossil fratern global
harmon hospital ideal immun institutional internal international legal liberal lion marginal
material maxim mechan miniatur mobil monopol natural neutral normal oxid passiv pasteur pedestrian
polar politic popular pressur priorit professional pulver regular secular social standard stigmat
synchron systemat union urban vapor victim vulgar western ; is iz | ation ations e ed es ing |
dramat external fictional general national privat rational reorgan serial special visual vocal ;
is iz | ed | annual motor ritual transistor unauthor uncivil underutil unorgan vulcan ; is iz |
ation e ed er ers es ing | colon equal fertil immobil ion stabil subsid ; is iz | e ed er ers es
ing | liquid moistur proselyt sympath synthes woman ; is iz | e ed es ing ingly | agon patron
tantal ; is iz | able ation ations e ed es ing | amort real ; is iz | able ably ance e ed es ing |
recogn ; is iz | able ation e ed es ing | util ; is iz | able ed | unrecogn ; is iz | ation
ational ations e ed er ers es ing | organ ; is iz | ation ations e ed er ers es ing | steril ; is
iz | ation ed | disorgan ; is iz | ement | aggrand ; is iz | er ers ing ingly | appet ; k - | - s
| almanac ; l it | y | tranquil ; le - | ry | jewel ; led - | - | pummel ; ling ed | - | pummel ;
lis iz | e ed er ers es ing | tranquil ; ll l | ed ing | backpeda bedevi cance caro cavi channe
chise cudge dia disembowe drive due ename funne gambo grove impane imperi initia labe marsha parce
peda penci quarre rave refue remode riva shove shrive signa snive snorke spira squirre stenci
swive towe tria tunne unrave wease yode ; ll l | ed | bejewe beve disheve grave tasse unequa
unriva untramme ; ll l | ed er ers ing | leve mode reve trave ; ll l | ed er ers | jewe ; ll l |
ed ing ist ists | pane ; ll l | ed ing or ors | counse ; ll l | ed ing ous | libe ; ll l | ed ing
ous ously | marve ; ll l | en ens ies y | woo ; ll l | er est | crue ; ll l | et eted eting ets |
fi ; ll l | i | chi ; ll l | ing ingly | grue ; ll l | iper ipers isthenics | ca ; ll l | ity ize
ized izer izers izes izing | tranqui ; ll l | or ors | counci ; m h | mm | - ; mh hm | m | - ; mme
m | - s | aerogra centigra gra kilogra milligra progra ; n - | ister isters | ban ; nce nse | - s
| offe prete ; nce nse | - d s | lice ; nce nse | - less s | defe ; ne - | - s | ton ; o - |
ustache ustached ustaches ustachioed | m ; oe e | a | diarrh gonorrh ; oe e | ia ias | pharmacop ;
oe e | ma | ed ; oe e | opath opathic opaths opathy | hom ; oe e | sophagus sophaguses strogen | -
; oe e | tal tid tus tuses | f ; oeuv euve | rability rable red ring rings | man ; oeuv euve | red
ring | outman ; oeuvre euver | - s | man outman ; ould old | - ed er ered ering ers ier iest ing
ings s y | m ; ould old | - ed ing s | rem ; ould old | er ered ering ers | sm ; our or | - | ard
cand clang demean disfav ferv misbehavi ranc technicol val vig ; our or | - s | arb misdemean parl
rig savi splend tricol tum vap watercol ; our or | - ed ing s | belab clam discol endeav harb succ
; our or | - able ably ed ing s | dishon hon ; our or | ed | enam multicol ; our or | - able ably
ed ing ite ites itism s | fav ; our or | - al ism ist ists s | behavi ; our or | - ant ants ed eds
ful fully ing ize ized izes izing less s | col ; our or | - ed er ers ies y | arm ; our or | - ed
er ers ing s | lab ; our or | - ed ies ing s y | sav ; our or | - ed ing ings less s some | flav ;
our or | - ed ing less s | hum ; our or | - ed s | rum ; our or | - hood hoods ing liness ly s |
neighb ; our or | - less s | od ; our or | able ably | unfav ; our or | y | unsav ; p - | ed er
ing | worship ; ph f | ate ates ide ides ur urous | sul ; philtre filter | - s | - ; qu ck | ered
| che ; que ck | - book books s | che ; re er | - s | louv sepulch ; re er | - | meag ; s - | es |
gas minibus ; s - | ed ing | bias ; s - | es ing | bus ; s c | e ed es ing | practi ; s z | ier
ies iest ily iness y | co ; t - | ist ists | clarinet ; t led | - | misspel ; te - | - s | epaulet
omelet ; tre ter | - s | amphithea centili centime epicen goi kilome li me microme millili millime
mi reconnoi scep spec ; tre ter | - | lacklus lus saltpe ; tre ter | - fold folds piece pieces s |
cen ; tre ter | - goer goers s | thea ; tre ter | ments | accou ; u - | ed ing | catalog ; u - |
lk lked lking lks | ba ; u - | lt lted lting lts | mo ; ugh f | t tboard tboards tier tiest ts
tsman tsmanship tsmen tswoman tswomen ty | dra ; ugh w | - | snowplo ; ugh w | - ed ing man men s
share shares | plo ; ughs w | - | snowplo ; v - | ies y | bev ; x ct | ion ions | conne infle ; y
a | jama jamas | p ; y i | pher phers | c ; y i | phon phoned phoning phons | s ; y i | re res | t
; yne in | - s | gro ; ypho iffi | n ns | gr ; ys yz | e ed es ing | anal catal paral psychoanal ;
ys yz | e ed er ers es ing | breathal
)";

}  // namespace s2s
