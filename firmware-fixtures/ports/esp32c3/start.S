/* Reset entry, trap vectors, sleep. The ROM enters with interrupts on and with its own vectors. */
  .section .text.start, "ax"
  .globl _start
_start:
  csrci mstatus, 8
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, _stack_top
  la t0, board_vectors
  ori t0, t0, 1
  csrw mtvec, t0
  la t0, _bss_start
  la t1, _bss_end
1:
  bgeu t0, t1, 2f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 1b
2:
  call main
3:
  wfi
  j 3b

/* Entry 0 is for exceptions, entry n for CPU interrupt n. Each must be an uncompressed jump. */
  .section .text.vectors, "ax"
  .balign 256
  .globl board_vectors
board_vectors:
  .option push
  .option norvc
  .option norelax
  j save_registers
  .rept 31
  j board_interrupt
  .endr
  .option pop

/* Saves the 31 registers and mepc on a stack of their own: the program's can be the cause. An
   exception inside of the panic restarts at once. */
save_registers:
  csrw mscratch, sp
  la sp, _panic_stack_top - 128
  sw ra, 4(sp)
  sw gp, 12(sp)
  sw tp, 16(sp)
  sw t0, 20(sp)
  sw t1, 24(sp)
  sw t2, 28(sp)
  sw s0, 32(sp)
  sw s1, 36(sp)
  sw a0, 40(sp)
  sw a1, 44(sp)
  sw a2, 48(sp)
  sw a3, 52(sp)
  sw a4, 56(sp)
  sw a5, 60(sp)
  sw a6, 64(sp)
  sw a7, 68(sp)
  sw s2, 72(sp)
  sw s3, 76(sp)
  sw s4, 80(sp)
  sw s5, 84(sp)
  sw s6, 88(sp)
  sw s7, 92(sp)
  sw s8, 96(sp)
  sw s9, 100(sp)
  sw s10, 104(sp)
  sw s11, 108(sp)
  sw t3, 112(sp)
  sw t4, 116(sp)
  sw t5, 120(sp)
  sw t6, 124(sp)
  csrr t0, mscratch
  sw t0, 8(sp)
  csrr t0, mepc
  sw t0, 0(sp)
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  mv a0, sp
  j board_exception

/* void board_sleep(const volatile uint32_t *has_work): sleeps unless the word is not 0. An
   interrupt between the load and wfi continues after wfi (board_interrupt): whether wfi wakes while
   interrupts are off is not documented, so they stay on. */
  .section .text.sleep, "ax"
  .globl board_sleep, board_sleep_end
board_sleep:
  lw t0, 0(a0)
  bnez t0, board_sleep_end
  wfi
board_sleep_end:
  ret
