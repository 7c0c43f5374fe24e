#pragma once
void nimble_port_freertos_init(void (*host_task)(void *));
void nimble_port_freertos_deinit(void);
