#pragma once
#include <stdarg.h>
typedef int (*vprintf_like_t)(const char *, va_list);
vprintf_like_t esp_log_set_vprintf(vprintf_like_t function);
void stub_log(const char *tag, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define ESP_LOGI(tag, ...) stub_log(tag, __VA_ARGS__)
#define ESP_LOGW(tag, ...) stub_log(tag, __VA_ARGS__)
