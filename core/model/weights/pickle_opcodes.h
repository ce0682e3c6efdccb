#pragma once
// Opcodes of Python's pickle, protocols 2 to 5. Source: Python's pickletools.

namespace s2s::pickle {

/// Opcodes of protocols 2 to 5 that this reader knows.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewObject = 0x81,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

/// Describes an opcode that would run code from the file. Returns nullptr for other opcodes.
inline const char* what_makes_objects(unsigned char opcode) {
  switch (opcode) {
    case 'i':
      return "the opcode INST, which creates an object";
    case 'o':
      return "the opcode OBJ, which creates an object";
    case kNewObject:
      return "the opcode NEWOBJ, which creates an object";
    case 0x92:
      return "the opcode NEWOBJ_EX, which creates an object";
    case 0x82:
    case 0x83:
    case 0x84:
      return "the opcode EXT, which imports an extension";
    default:
      return nullptr;
  }
}

}  // namespace s2s::pickle
