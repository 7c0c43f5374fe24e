#pragma once
#include "freertos/FreeRTOS.h"
typedef struct stub_stream_buffer *StreamBufferHandle_t;
StreamBufferHandle_t xStreamBufferCreate(size_t bytes, size_t trigger);
size_t xStreamBufferSpacesAvailable(StreamBufferHandle_t buffer);
size_t xStreamBufferSend(StreamBufferHandle_t buffer, const void *bytes, size_t length, TickType_t wait);
size_t xStreamBufferReceive(StreamBufferHandle_t buffer, void *bytes, size_t size, TickType_t wait);
