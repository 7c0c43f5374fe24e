/* Registers of the ESP32-C3 that this port uses. Sources: the ESP32-C3 Technical Reference Manual
 * and the register headers of ESP-IDF; docs/FIRMWARE.md says what was verified how. Every register
 * takes 32-bit accesses only. */
#ifndef NOTIBOT_ESP32C3_REGISTERS_H
#define NOTIBOT_ESP32C3_REGISTERS_H

#include <stdint.h>

static inline volatile uint32_t *reg(uint32_t address)
{
  return (volatile uint32_t *)(uintptr_t)address;
}

#define UART0_BASE 0x60000000u
#define UART1_BASE 0x60010000u
#define GPIO_BASE 0x60004000u
#define RTC_BASE 0x60008000u
#define EFUSE_BASE 0x60008800u
#define IO_MUX_BASE 0x60009000u
#define TIMG0_BASE 0x6001f000u
#define TIMG1_BASE 0x60020000u
#define SYSTIMER_BASE 0x60023000u
#define USB_BASE 0x60043000u
#define SYSTEM_BASE 0x600c0000u
#define MATRIX_BASE 0x600c2000u
#define RANDOM_REGISTER 0x600260b0u

/* UART: offsets. */
#define UART_FIFO 0x00u
#define UART_INT_RAW 0x04u
#define UART_INT_ST 0x08u
#define UART_INT_ENA 0x0cu
#define UART_INT_CLR 0x10u
#define UART_CLKDIV 0x14u
#define UART_STATUS 0x1cu
#define UART_CONF0 0x20u
#define UART_CONF1 0x24u
#define UART_MEM_CONF 0x60u
#define UART_FSM_STATUS 0x6cu
#define UART_CLK_CONF 0x78u
#define UART_ID 0x80u

#define UART_INT_RX_FULL (1u << 0)
#define UART_INT_TX_EMPTY (1u << 1)
#define UART_INT_RX_OVERFLOW (1u << 4)
#define UART_INT_RX_TIMEOUT (1u << 8)
#define UART_INT_ALL 0xfffffu
#define UART_CONF0_8N1 0x1cu
#define UART_CONF0_RX_RESET (1u << 17)
#define UART_CONF0_TX_RESET (1u << 18)
#define UART_CONF0_MEM_CLK (1u << 28)
#define UART_CONF1_RX_TIMEOUT (1u << 21)
#define UART_CLK_XTAL 0x03700000u /* crystal, divided by 1; all clocks on */
#define UART_ID_UPDATE (1u << 31)
#define UART_FIFO_BYTES 128u

/* USB-Serial-JTAG: offsets. */
#define USB_EP1 0x00u
#define USB_EP1_CONF 0x04u
#define USB_INT_ST 0x0cu
#define USB_INT_ENA 0x10u
#define USB_INT_CLR 0x14u

#define USB_SEND (1u << 0)
#define USB_IN_FREE (1u << 1)
#define USB_OUT_AVAILABLE (1u << 2)
#define USB_INT_OUT (1u << 2)
#define USB_INT_IN_EMPTY (1u << 3)
#define USB_INT_ALL 0xfffu

/* SYSTIMER: offsets. 16 ticks per microsecond, at any CPU clock. */
#define SYSTIMER_CONF 0x00u
#define SYSTIMER_UNIT0_OP 0x04u
#define SYSTIMER_TARGET0_HI 0x1cu
#define SYSTIMER_TARGET0_LO 0x20u
#define SYSTIMER_TARGET0_CONF 0x34u
#define SYSTIMER_UNIT0_HI 0x40u
#define SYSTIMER_UNIT0_LO 0x44u
#define SYSTIMER_COMP0_LOAD 0x50u
#define SYSTIMER_INT_ENA 0x64u
#define SYSTIMER_INT_CLR 0x6cu

#define SYSTIMER_TARGET0_ON (1u << 24)
#define SYSTIMER_UPDATE (1u << 30)
#define SYSTIMER_VALID (1u << 29)
#define TICKS_PER_MS 16000u

/* Interrupt matrix: offsets, and the numbers of the sources. */
#define MATRIX_ENABLE 0x104u
#define MATRIX_TYPE 0x108u
#define MATRIX_PRIORITY(line) (0x114u + 4u * (line))
#define MATRIX_THRESHOLD 0x194u
#define SOURCE_UART0 21u
#define SOURCE_UART1 22u
#define SOURCE_USB 26u
#define SOURCE_SYSTIMER0 37u

/* System clocks. */
#define SYSTEM_CPU_PER_CONF 0x08u
#define SYSTEM_SYSCLK_CONF 0x58u
#define CPU_PERIOD_MASK 3u
#define SYSCLK_SOURCE_MASK (3u << 10)
#define SYSCLK_SOURCE_PLL (1u << 10)

/* RTC: reset, watchdogs. */
#define RTC_OPTIONS0 0x00u
#define RTC_RESET_STATE 0x38u
#define RTC_WDT_CONFIG0 0x90u
#define RTC_WDT_HOLD0 0x94u
#define RTC_WDT_FEED 0xa4u
#define RTC_WDT_PROTECT 0xa8u
#define RTC_SWD_CONF 0xacu
#define RTC_SWD_PROTECT 0xb0u
#define RTC_OPTION1 0x12cu

#define RTC_SYSTEM_RESET (1u << 31)
#define RTC_RESET_MASK 0x3fu
#define RTC_FORCE_DOWNLOAD 1u
#define RTC_WDT_ON (1u << 31)
#define RTC_WDT_STAGE0_CORE_RESET (3u << 28)
/* Lengths of the reset signals, as after power-on. */
#define RTC_WDT_LENGTHS 0x12014u
#define RTC_WDT_FEED_NOW (1u << 31)
#define RTC_SWD_AUTO_FEED (1u << 31)
#define WDT_KEY 0x50d83aa1u
#define SWD_KEY 0x8f1d312au

/* Watchdogs of the timer groups: offsets. */
#define TIMG_WDT_CONFIG0 0x48u
#define TIMG_WDT_PROTECT 0x64u
#define TIMG_WDT_UPDATE (1u << 22)

/* Device id. */
#define EFUSE_MAC_LOW 0x44u
#define EFUSE_MAC_HIGH 0x48u

/* Pins: the control line is UART1, routed by the GPIO matrix. */
#define GPIO_OUT_CLEAR 0x0cu
#define GPIO_ENABLE_SET 0x24u
#define GPIO_ENABLE_CLEAR 0x28u
#define GPIO_IN 0x3cu
#define GPIO_IN_SELECT(signal) (0x154u + 4u * (signal))
#define GPIO_OUT_SELECT(pin) (0x554u + 4u * (pin))
#define GPIO_IN_BY_MATRIX (1u << 6)
#define IO_MUX_PIN(pin) (0x04u + 4u * (pin))
#define IO_MUX_INPUT (1u << 9)
#define IO_MUX_PULL_UP (1u << 8)
#define IO_MUX_GPIO (1u << 12)
#define SIGNAL_UART1 9u

#endif
