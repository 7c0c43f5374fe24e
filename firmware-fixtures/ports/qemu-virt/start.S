/* Reset entry: stack, global pointer, cleared .bss, trap vector; then main, which does not return. */
  .section .text.start, "ax"
  .globl _start
_start:
  csrw mie, zero
  csrci mstatus, 8
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, _stack_top
  la t0, board_trap
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
