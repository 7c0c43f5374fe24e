/* Decodes RV32IMC. Source: the RISC-V Instruction Set Manual, volume I, 20191213. Compressed
   instructions become the ones that they stand for. */
#include "chip_internal.h"

static uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return word >> low & ((2u << (high - low)) - 1);
}

/* Extends the sign of a number of `width` bits. */
static uint32_t extend(uint32_t value, unsigned width) {
  uint32_t sign = 1u << (width - 1);
  return (value ^ sign) - sign;
}

static void set(slot_t *slot, enum op op, uint32_t rd, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  slot->op = (uint8_t)op;
  slot->rd = (uint8_t)(rd == 0 ? SINK : rd);
  slot->rs1 = (uint8_t)rs1;
  slot->rs2 = (uint8_t)rs2;
  slot->imm = imm;
}

/* Quadrant 0: addi4spn, lw, sw. */
static void decode_c0(uint32_t w, slot_t *slot) {
  uint32_t rd = 8 + bits(w, 4, 2), rs1 = 8 + bits(w, 9, 7);
  uint32_t offset = bits(w, 12, 10) << 3 | bits(w, 6, 6) << 2 | bits(w, 5, 5) << 6;
  uint32_t wide = bits(w, 12, 11) << 4 | bits(w, 10, 7) << 6 | bits(w, 6, 6) << 2 | bits(w, 5, 5) << 3;
  switch (bits(w, 15, 13)) {
  case 0: if (wide != 0) set(slot, OP_ADDI, rd, 2, 0, wide); break;
  case 2: set(slot, OP_LW, rd, rs1, 0, offset); break;
  case 6: set(slot, OP_SW, 0, rs1, rd, offset); break;
  default: break;
  }
}

/* Quadrant 1, function 4: shifts, andi, and operations of two registers. */
static void decode_c1_alu(uint32_t w, slot_t *slot) {
  static const uint8_t pairs[4] = {OP_SUB, OP_XOR, OP_OR, OP_AND};
  uint32_t rd = 8 + bits(w, 9, 7), imm = bits(w, 12, 12) << 5 | bits(w, 6, 2);
  switch (bits(w, 11, 10)) {
  case 0: if (imm < 32) set(slot, OP_SRLI, rd, rd, 0, imm); break;
  case 1: if (imm < 32) set(slot, OP_SRAI, rd, rd, 0, imm); break;
  case 2: set(slot, OP_ANDI, rd, rd, 0, extend(imm, 6)); break;
  default:
    if (bits(w, 12, 12) == 0) set(slot, pairs[bits(w, 6, 5)], rd, rd, 8 + bits(w, 4, 2), 0);
    break;
  }
}

static void decode_c1(uint32_t w, uint32_t pc, slot_t *slot) {
  uint32_t rd = bits(w, 11, 7), imm = extend(bits(w, 12, 12) << 5 | bits(w, 6, 2), 6);
  uint32_t jump = extend(bits(w, 12, 12) << 11 | bits(w, 11, 11) << 4 | bits(w, 10, 9) << 8 | bits(w, 8, 8) << 10
                           | bits(w, 7, 7) << 6 | bits(w, 6, 6) << 7 | bits(w, 5, 3) << 1 | bits(w, 2, 2) << 5, 12);
  uint32_t branch = extend(bits(w, 12, 12) << 8 | bits(w, 11, 10) << 3 | bits(w, 6, 5) << 6 | bits(w, 4, 3) << 1
                             | bits(w, 2, 2) << 5, 9);
  uint32_t stack = extend(bits(w, 12, 12) << 9 | bits(w, 6, 6) << 4 | bits(w, 5, 5) << 6 | bits(w, 4, 3) << 7
                            | bits(w, 2, 2) << 5, 10);
  switch (bits(w, 15, 13)) {
  case 0: set(slot, OP_ADDI, rd, rd, 0, imm); break;
  case 1: set(slot, OP_JAL, 1, 0, 0, pc + jump); break;
  case 2: set(slot, OP_ADDI, rd, 0, 0, imm); break;
  case 3:
    if (imm == 0) break;
    if (rd == 2) set(slot, OP_ADDI, 2, 2, 0, stack);
    else set(slot, OP_LUI, rd, 0, 0, imm << 12);
    break;
  case 4: decode_c1_alu(w, slot); break;
  case 5: set(slot, OP_JAL, 0, 0, 0, pc + jump); break;
  case 6: set(slot, OP_BEQ, 0, 8 + bits(w, 9, 7), 0, pc + branch); break;
  default: set(slot, OP_BNE, 0, 8 + bits(w, 9, 7), 0, pc + branch); break;
  }
}

static void decode_c2(uint32_t w, slot_t *slot) {
  uint32_t rd = bits(w, 11, 7), rs2 = bits(w, 6, 2);
  uint32_t load = bits(w, 12, 12) << 5 | bits(w, 6, 4) << 2 | bits(w, 3, 2) << 6;
  uint32_t store = bits(w, 12, 9) << 2 | bits(w, 8, 7) << 6;
  switch (bits(w, 15, 13)) {
  case 0: if (bits(w, 12, 12) == 0) set(slot, OP_SLLI, rd, rd, 0, rs2); break;
  case 2: if (rd != 0) set(slot, OP_LW, rd, 2, 0, load); break;
  case 4:
    if (bits(w, 12, 12) == 0) {
      if (rs2 != 0) set(slot, OP_ADD, rd, 0, rs2, 0);
      else if (rd != 0) set(slot, OP_JALR, 0, rd, 0, 0);
    } else if (rs2 != 0) {
      set(slot, OP_ADD, rd, rd, rs2, 0);
    } else if (rd != 0) {
      set(slot, OP_JALR, 1, rd, 0, 0);
    } else {
      set(slot, OP_EBREAK, 0, 0, 0, 0);
    }
    break;
  case 6: set(slot, OP_SW, 0, 2, rs2, store); break;
  default: break;
  }
}

static void decode_register_ops(uint32_t w, slot_t *slot) {
  static const uint8_t plain[8] = {OP_ADD, OP_SLL, OP_SLT, OP_SLTU, OP_XOR, OP_SRL, OP_OR, OP_AND};
  static const uint8_t wide[8] = {OP_MUL, OP_MULH, OP_MULHSU, OP_MULHU, OP_DIV, OP_DIVU, OP_REM, OP_REMU};
  uint32_t function = bits(w, 14, 12), rd = bits(w, 11, 7), rs1 = bits(w, 19, 15), rs2 = bits(w, 24, 20);
  switch (bits(w, 31, 25)) {
  case 0: set(slot, plain[function], rd, rs1, rs2, 0); break;
  case 1: set(slot, wide[function], rd, rs1, rs2, 0); break;
  case 32:
    if (function == 0) set(slot, OP_SUB, rd, rs1, rs2, 0);
    if (function == 5) set(slot, OP_SRA, rd, rs1, rs2, 0);
    break;
  default: break;
  }
}

static void decode_immediate_ops(uint32_t w, slot_t *slot) {
  static const uint8_t ops[8] = {OP_ADDI, OP_SLLI, OP_SLTI, OP_SLTIU, OP_XORI, OP_SRLI, OP_ORI, OP_ANDI};
  uint32_t function = bits(w, 14, 12), rd = bits(w, 11, 7), rs1 = bits(w, 19, 15), kind = bits(w, 31, 25);
  uint32_t imm = extend(bits(w, 31, 20), 12);
  if (function == 1 || function == 5) {
    imm = bits(w, 24, 20);
    if (function == 5 && kind == 32) { set(slot, OP_SRAI, rd, rs1, 0, imm); return; }
    if (kind != 0) return;
  }
  set(slot, ops[function], rd, rs1, 0, imm);
}

static void decode_system(uint32_t w, slot_t *slot) {
  uint32_t function = bits(w, 14, 12);
  if (function == 0) {
    switch (w) {
    case 0x00000073: set(slot, OP_ECALL, 0, 0, 0, 0); break;
    case 0x00100073: set(slot, OP_EBREAK, 0, 0, 0, 0); break;
    case 0x30200073: set(slot, OP_MRET, 0, 0, 0, 0); break;
    case 0x10500073: set(slot, OP_WFI, 0, 0, 0, 0); break;
    default: break;
    }
  } else if (function != 4) {
    /* The number of the register is in imm, the function in rs2. */
    set(slot, OP_CSR, bits(w, 11, 7), bits(w, 19, 15), function, bits(w, 31, 20));
  }
}

static void decode_wide(uint32_t w, uint32_t pc, slot_t *slot) {
  static const uint8_t branches[8] = {OP_BEQ, OP_BNE, 0, 0, OP_BLT, OP_BGE, OP_BLTU, OP_BGEU};
  static const uint8_t loads[8] = {OP_LB, OP_LH, OP_LW, 0, OP_LBU, OP_LHU, 0, 0};
  static const uint8_t stores[8] = {OP_SB, OP_SH, OP_SW, 0, 0, 0, 0, 0};
  uint32_t function = bits(w, 14, 12), rd = bits(w, 11, 7), rs1 = bits(w, 19, 15), rs2 = bits(w, 24, 20);
  uint32_t jump = extend(bits(w, 31, 31) << 20 | bits(w, 19, 12) << 12 | bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1,
                         21);
  uint32_t branch = extend(bits(w, 31, 31) << 12 | bits(w, 7, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1,
                           13);
  uint32_t imm = extend(bits(w, 31, 20), 12);
  switch (bits(w, 6, 0)) {
  case 0x37: set(slot, OP_LUI, rd, 0, 0, w & 0xfffff000u); break;
  case 0x17: set(slot, OP_LUI, rd, 0, 0, pc + (w & 0xfffff000u)); break;
  case 0x6f: set(slot, OP_JAL, rd, 0, 0, pc + jump); break;
  case 0x67: if (function == 0) set(slot, OP_JALR, rd, rs1, 0, imm); break;
  case 0x63: if (branches[function] != 0) set(slot, branches[function], 0, rs1, rs2, pc + branch); break;
  case 0x03: if (loads[function] != 0) set(slot, loads[function], rd, rs1, 0, imm); break;
  case 0x23:
    if (stores[function] != 0) set(slot, stores[function], 0, rs1, rs2, extend(bits(w, 31, 25) << 5 | rd, 12));
    break;
  case 0x13: decode_immediate_ops(w, slot); break;
  case 0x33: decode_register_ops(w, slot); break;
  case 0x0f: if (function <= 1) set(slot, OP_FENCE, 0, 0, 0, 0); break;
  case 0x73: decode_system(w, slot); break;
  default: break;
  }
}

void decode(uint32_t word, uint32_t pc, slot_t *slot) {
  slot->length = (word & 3) == 3 ? 4 : 2;
  set(slot, OP_ILLEGAL, 0, 0, 0, slot->length == 4 ? word : word & 0xffffu);
  switch (word & 3) {
  case 0: decode_c0(word & 0xffffu, slot); break;
  case 1: decode_c1(word & 0xffffu, pc, slot); break;
  case 2: decode_c2(word & 0xffffu, slot); break;
  default: decode_wide(word, pc, slot); break;
  }
}
