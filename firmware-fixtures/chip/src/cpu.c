/* The interpreter: decoded instructions are kept for each halfword of RAM, and dropped when the RAM
   below them is written (bus_forget_code). */
#include "chip_internal.h"

typedef struct region {
  slot_t *slots;
  const uint8_t *bytes;
  uint32_t base, size;
} region_t;

static bool region_of(chip_t *chip, uint32_t pc, region_t *region) {
  if (pc - SRAM_CODE < SRAM_BYTES) {
    *region = (region_t){chip->slots, chip->sram, SRAM_CODE, SRAM_BYTES};
    return true;
  }
  if (pc - RTC_FAST < RTC_FAST_BYTES) {
    *region = (region_t){chip->rtc_slots, chip->rtc_fast, RTC_FAST, RTC_FAST_BYTES};
    return true;
  }
  if (pc - 0x40000000u < 0x380000u || pc - 0x42000000u < 0x800000u) {
    chip_fail(chip, "execution in ROM, cache or flash, which is not modelled");
  }
  return false;
}

/* Decodes the instruction at `pc`. A 4-byte one must be in the region as a whole. */
static bool fetch(chip_t *chip, const region_t *region, uint32_t pc, slot_t *slot) {
  uint32_t offset = pc - region->base;
  uint32_t word = get_u16(region->bytes + offset);
  if ((word & 3) == 3) {
    if (offset + 4 > region->size) return false;
    word = get_u32(region->bytes + offset);
  }
  decode(word, pc, slot);
  if (region->base == SRAM_CODE) {
    chip->has_code[offset / CODE_PAGE_BYTES] = 1;
    chip->has_code[(offset + slot->length - 1) / CODE_PAGE_BYTES] = 1;
  }
  return true;
}

static uint32_t divide(uint32_t a, uint32_t b, enum op op) {
  bool overflows = a == 0x80000000u && b == UINT32_MAX;
  switch (op) {
  case OP_DIV: return b == 0 ? UINT32_MAX : overflows ? a : (uint32_t)((int32_t)a / (int32_t)b);
  case OP_DIVU: return b == 0 ? UINT32_MAX : a / b;
  case OP_REM: return b == 0 ? a : overflows ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
  default: return b == 0 ? a : a % b;
  }
}

/* A load or store beyond SRAM1's data bus. False: the instruction did not finish. */
static bool access_elsewhere(chip_t *chip, const slot_t *s, uint32_t address, bool is_store) {
  static const uint8_t sizes[] = {1, 2, 4, 1, 2, 1, 2, 4};
  unsigned size = sizes[s->op - OP_LB];
  uint32_t value = chip->cpu.x[s->rs2];
  chip->access_address = address;
  bus_t result = is_store ? bus_store(chip, address, size, value) : bus_load(chip, address, size, &value);
  if (result == BUS_OK) {
    if (s->op == OP_LB) value = (uint32_t)(int8_t)value;
    if (s->op == OP_LH) value = (uint32_t)(int16_t)value;
    if (!is_store) chip->cpu.x[s->rd] = value;
    return true;
  }
  if (result == BUS_MISALIGNED) cpu_trap(chip, is_store ? CAUSE_STORE_MISALIGNED : CAUSE_LOAD_MISALIGNED, address);
  if (result == BUS_ABSENT) cpu_trap(chip, is_store ? CAUSE_STORE : CAUSE_LOAD, address);
  return false;
}

/* The rare ones. Returns false if pc was set, or nothing was done. */
static bool run_system(chip_t *chip, const slot_t *s) {
  switch (s->op) {
  case OP_CSR:
    if (csr_access(chip, s)) return true;
    cpu_trap(chip, CAUSE_ILLEGAL, 0);
    return false;
  case OP_WFI:
    chip->cpu.is_sleeping = true;
    chip->attention = true;
    return true;
  case OP_MRET: cpu_return(chip); return false;
  case OP_ECALL: cpu_trap(chip, CAUSE_ECALL, 0); return false;
  case OP_EBREAK: cpu_trap(chip, CAUSE_BREAKPOINT, 0); return false;
  default: cpu_trap(chip, CAUSE_ILLEGAL, s->imm); return false;
  }
}

#define RD x[s->rd]
#define A x[s->rs1]
#define B x[s->rs2]
#define JUMP(target) { pc = (target); left -= 1 + JUMP_CYCLES; continue; }
#define BRANCH(condition) if (condition) JUMP(s->imm) break
/* The fast path: aligned, in SRAM1. `get` reads at p. */
#define LOAD(size, get) { \
    uint32_t address = A + s->imm, offset = address - SRAM_DATA; \
    left -= LOAD_CYCLES; \
    if (offset >= SRAM_BYTES || (address & ((size) - 1)) != 0) goto load_elsewhere; \
    const uint8_t *p = sram + offset; \
    RD = (uint32_t)(get); } break
#define STORE(size, put) { \
    uint32_t address = A + s->imm, offset = address - SRAM_DATA; \
    if (offset >= SRAM_BYTES || (address & ((size) - 1)) != 0) goto store_elsewhere; \
    uint8_t *p = sram + offset; \
    put; \
    if (chip->has_code[offset / CODE_PAGE_BYTES] != 0) bus_forget_code(chip, offset, size); } break

/* Brings the time to that of the present instruction. */
#define SYNC() (chip->now_ps += (uint64_t)(chip->slice_cycles - left) * chip->clocks.period_ps, \
                chip->awake_ps += (uint64_t)(chip->slice_cycles - left) * chip->clocks.period_ps, \
                chip->cycles += (uint64_t)(chip->slice_cycles - left), chip->slice_cycles = left)

void cpu_run(chip_t *chip, int64_t cycles) {
  uint32_t *x = chip->cpu.x;
  uint8_t *sram = chip->sram;
  uint32_t pc = chip->cpu.pc;
  region_t region = {0};
  slot_t *s = NULL;
  int64_t left = cycles;
  uint64_t count = 0;
  bool is_store = false;
  chip->slice_cycles = cycles;
  chip->attention = false;
  for (; left > 0; count++) {
    uint32_t at = pc - region.base;
    if (at >= region.size) {
      chip->cpu.pc = pc;
      if (!region_of(chip, pc, &region)) goto bad_fetch;
      at = pc - region.base;
    }
    s = &region.slots[at >> 1];
  again:
    switch ((enum op)s->op) {
    case OP_UNDECODED:
      chip->cpu.pc = pc;
      if (!fetch(chip, &region, pc, s)) goto bad_fetch;
      goto again;
    case OP_LUI: RD = s->imm; break;
    case OP_JAL: RD = pc + s->length; JUMP(s->imm)
    case OP_JALR: { uint32_t target = (A + s->imm) & ~1u; RD = pc + s->length; JUMP(target) }
    case OP_BEQ: BRANCH(A == B);
    case OP_BNE: BRANCH(A != B);
    case OP_BLT: BRANCH((int32_t)A < (int32_t)B);
    case OP_BGE: BRANCH((int32_t)A >= (int32_t)B);
    case OP_BLTU: BRANCH(A < B);
    case OP_BGEU: BRANCH(A >= B);
    case OP_LB: LOAD(1, (int8_t)p[0]);
    case OP_LH: LOAD(2, (int16_t)get_u16(p));
    case OP_LW: LOAD(4, get_u32(p));
    case OP_LBU: LOAD(1, p[0]);
    case OP_LHU: LOAD(2, get_u16(p));
    case OP_SB: STORE(1, p[0] = (uint8_t)B);
    case OP_SH: STORE(2, put_u16(p, B));
    case OP_SW: STORE(4, put_u32(p, B));
    case OP_ADDI: RD = A + s->imm; break;
    case OP_SLTI: RD = (int32_t)A < (int32_t)s->imm; break;
    case OP_SLTIU: RD = A < s->imm; break;
    case OP_XORI: RD = A ^ s->imm; break;
    case OP_ORI: RD = A | s->imm; break;
    case OP_ANDI: RD = A & s->imm; break;
    case OP_SLLI: RD = A << s->imm; break;
    case OP_SRLI: RD = A >> s->imm; break;
    case OP_SRAI: RD = (uint32_t)((int32_t)A >> s->imm); break;
    case OP_ADD: RD = A + B; break;
    case OP_SUB: RD = A - B; break;
    case OP_SLL: RD = A << (B & 31); break;
    case OP_SLT: RD = (int32_t)A < (int32_t)B; break;
    case OP_SLTU: RD = A < B; break;
    case OP_XOR: RD = A ^ B; break;
    case OP_SRL: RD = A >> (B & 31); break;
    case OP_SRA: RD = (uint32_t)((int32_t)A >> (B & 31)); break;
    case OP_OR: RD = A | B; break;
    case OP_AND: RD = A & B; break;
    case OP_MUL: RD = A * B; break;
    case OP_MULH: RD = (uint32_t)((uint64_t)((int64_t)(int32_t)A * (int32_t)B) >> 32); break;
    case OP_MULHSU: RD = (uint32_t)((uint64_t)((int64_t)(int32_t)A * (int64_t)B) >> 32); break;
    case OP_MULHU: RD = (uint32_t)((uint64_t)A * B >> 32); break;
    case OP_DIV: case OP_DIVU: case OP_REM: case OP_REMU:
      RD = divide(A, B, (enum op)s->op);
      left -= DIVIDE_CYCLES;
      break;
    case OP_FENCE: break;
    case OP_ILLEGAL: case OP_ECALL: case OP_EBREAK: case OP_MRET: case OP_WFI: case OP_CSR:
      goto system;
    }
    pc += s->length;
    left--;
    continue;

  store_elsewhere:
    is_store = true;
  load_elsewhere:
    SYNC();
    chip->cpu.pc = pc;
    left -= PERIPHERAL_CYCLES;
    if (access_elsewhere(chip, s, A + s->imm, is_store)) chip->cpu.pc += s->length;
    is_store = false;
    goto looked_up;
  system:
    SYNC();
    chip->cpu.pc = pc;
    if (run_system(chip, s)) chip->cpu.pc += s->length;
  looked_up:
    pc = chip->cpu.pc;
    left--;
    if (chip->attention) { count++; break; }
    continue;

  bad_fetch:
    left--;
    if (chip->fault.text[0] == 0) cpu_trap(chip, CAUSE_FETCH, pc);
    pc = chip->cpu.pc;
    break;
  }
  SYNC();
  chip->cpu.pc = pc;
  chip->instructions += count;
}
