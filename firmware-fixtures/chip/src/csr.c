/* Control registers, traps. Machine mode only. The chip has no mie, mip, mcycle: they are
   illegal. */
#include "chip_internal.h"

enum csr {
  CSR_MSTATUS = 0x300, CSR_MISA = 0x301, CSR_MTVEC = 0x305, CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341, CSR_MCAUSE = 0x342,
  CSR_MTVAL = 0x343, CSR_MVENDORID = 0xf11, CSR_MARCHID = 0xf12, CSR_MIMPID = 0xf13, CSR_MHARTID = 0xf14,
};
#define MISA 0x40101104u
#define MTVEC_MODE 1u
#define MTVEC_LOW_BITS 0xffu

static bool csr_read(const cpu_t *cpu, uint32_t number, uint32_t *value) {
  switch (number) {
  case CSR_MSTATUS: *value = cpu->mstatus; return true;
  case CSR_MISA: *value = MISA; return true;
  case CSR_MTVEC: *value = cpu->mtvec; return true;
  case CSR_MSCRATCH: *value = cpu->mscratch; return true;
  case CSR_MEPC: *value = cpu->mepc; return true;
  case CSR_MCAUSE: *value = cpu->mcause; return true;
  case CSR_MTVAL: *value = cpu->mtval; return true;
  case CSR_MVENDORID: *value = 0x612; return true;
  case CSR_MARCHID: *value = 0x80000001u; return true;
  case CSR_MIMPID: *value = 1; return true;
  case CSR_MHARTID: *value = 0; return true;
  default: return false;
  }
}

static bool csr_write(chip_t *chip, uint32_t number, uint32_t value) {
  cpu_t *cpu = &chip->cpu;
  switch (number) {
  case CSR_MSTATUS:
    cpu->mstatus = value & (MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_MPP);
    chip->attention = true;
    return true;
  case CSR_MTVEC:
    if ((value & MTVEC_LOW_BITS) != MTVEC_MODE) {
      chip_fail(chip, "mtvec 0x%08x: the vectors are 256-byte aligned, and the low bit is 1", value);
    }
    cpu->mtvec = value;
    return true;
  case CSR_MSCRATCH: cpu->mscratch = value; return true;
  case CSR_MEPC: cpu->mepc = value & ~1u; return true;
  case CSR_MCAUSE: cpu->mcause = value; return true;
  case CSR_MTVAL: cpu->mtval = value; return true;
  default: return false;
  }
}

bool csr_access(chip_t *chip, const slot_t *slot) {
  uint32_t old = 0;
  uint32_t function = slot->rs2;
  uint32_t operand = function >= 4 ? slot->rs1 : chip->cpu.x[slot->rs1];
  bool writes = (function & 3) == 1 || slot->rs1 != 0;
  if (!csr_read(&chip->cpu, slot->imm, &old)) return false;
  if (writes) {
    uint32_t value = (function & 3) == 1 ? operand : (function & 3) == 2 ? old | operand : old & ~operand;
    if (!csr_write(chip, slot->imm, value)) return false;
  }
  chip->cpu.x[slot->rd] = old;
  return true;
}

/* Enters the vector table at `offset` from its start. */
static void enter(chip_t *chip, uint32_t cause, uint32_t value, uint32_t offset) {
  cpu_t *cpu = &chip->cpu;
  bool was_on = (cpu->mstatus & MSTATUS_MIE) != 0;
  cpu->mepc = cpu->pc;
  cpu->mcause = cause;
  cpu->mtval = value;
  cpu->mstatus = MSTATUS_MPP | (was_on ? MSTATUS_MPIE : 0);
  cpu->pc = (cpu->mtvec & ~MTVEC_LOW_BITS) + offset;
  chip->attention = true;
}

void cpu_trap(chip_t *chip, uint32_t cause, uint32_t value) {
  if (chip->cpu.stops_at_exception) {
    chip->cpu.stopped_by = (int)cause;
    chip->attention = true;
    return;
  }
  enter(chip, cause, value, 0);
}

void cpu_interrupt(chip_t *chip, uint32_t line) {
  enter(chip, 0x80000000u | line, 0, 4 * line);
}

void cpu_return(chip_t *chip) {
  cpu_t *cpu = &chip->cpu;
  if ((cpu->mstatus & MSTATUS_MPP) != MSTATUS_MPP) {
    chip_fail(chip, "mret to user mode, which is not modelled");
    return;
  }
  cpu->mstatus = MSTATUS_MPIE | ((cpu->mstatus & MSTATUS_MPIE) != 0 ? MSTATUS_MIE : 0);
  cpu->pc = cpu->mepc;
  chip->attention = true;
}
