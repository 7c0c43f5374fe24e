#pragma once
#include "freertos/FreeRTOS.h"
typedef struct stub_task *TaskHandle_t;
BaseType_t xTaskCreate(void (*function)(void *), const char *name, uint32_t stack_bytes, void *parameters,
                       UBaseType_t priority, TaskHandle_t *task);
