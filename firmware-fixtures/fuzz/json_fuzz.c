/* Any bytes as a value of Data. A stored notification must be readable, and a refused one must
   leave nothing. */
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_texts(const nb_slot_t *slot) {
  char text[NB_VALUE_MAX + 1];
  static const char *const keys[] = {"app", "title", "text"};
  static const int limits[] = {64, 128, NB_VALUE_MAX};
  for (size_t index = 0; index < 3; index++) {
    int count = nb_json_text(slot->json, slot->length, keys[index], text, sizeof text);
    fuzz_demand(count >= 0 && count <= limits[index], "a stored notification has its strings in their limits (NTF-3)");
    fuzz_demand(memchr(text, 0, (size_t)count + 1) == text + count, "no string holds U+0000 (NTF-4)");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static nb_bearer_t bearer;
  uint8_t pdu[3 + NB_VALUE_MAX], answer[NB_MTU_MAX];
  if (length < 1) return 0;
  nb_device_t *device = fuzz_device(bytes[0] & 0x9u, 0);
  size_t count = length - 1 < NB_VALUE_MAX ? length - 1 : NB_VALUE_MAX;
  memset(&bearer, 0, sizeof bearer);
  fuzz_demand(nb_bearer_open(device, &bearer) == 0, "a bearer opens");
  const uint8_t mtu[3] = {0x02, 0x05, 0x02};
  fuzz_demand(nb_att_handle(device, &bearer, mtu, sizeof mtu, answer, sizeof answer) == 3, "MTU is answered (ATT-8)");
  pdu[0] = 0x12;
  pdu[1] = 6;
  pdu[2] = 0;
  memcpy(pdu + 3, bytes + 1, count);
  int answered = nb_att_handle(device, &bearer, pdu, count + 3, answer, sizeof answer);
  fuzz_demand((answered == 1 && answer[0] == 0x13) || (answered == 5 && answer[0] == 0x01), "one answer (ATT-5)");
  uint32_t stored = nb_device_count(device);
  fuzz_demand(stored <= 1 && (answer[0] == 0x13 || stored == 0), "what is refused is not stored (NTF-1)");
  if (stored == 1 && device->config->slots[0].item != 0) check_texts(&device->config->slots[0]);
  nb_bearer_close(device, &bearer);
  return 0;
}
