/* Any bytes to the frame decoder. Every non-zero byte must be in a frame, in an echo or in the text
   (FRM-12). */
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

typedef struct ledger {
  size_t candidate; /* bytes since the last zero that were not yet text */
  size_t text;
} ledger_t;

static void note(nb_decoder_t *decoder, enum nb_received received, ledger_t *ledger) {
  if (received == NB_RECEIVED_TEXT) {
    fuzz_demand(memchr(decoder->text, 0, decoder->text_length) == NULL, "a zero is never text (FRM-6)");
    fuzz_demand(decoder->text_length <= ledger->candidate, "text is delivered once (FRM-6)");
    ledger->candidate -= decoder->text_length;
    ledger->text += decoder->text_length;
  }
  fuzz_demand(ledger->candidate <= NB_CANDIDATE_MAX, "no more than 544 bytes are kept (FRM-13)");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static nb_decoder_t decoder;
  uint32_t now = UINT32_MAX - 500; /* the clock wraps during the run */
  ledger_t ledger = {0, 0};
  memset(&decoder, 0xA5, sizeof decoder);
  nb_decoder_start(&decoder, true);
  for (size_t index = 0; index < length; index++) {
    if (bytes[index] == 0x7F) { /* means a second of silence */
      now += 1000;
      note(&decoder, nb_decoder_poll(&decoder, now), &ledger);
      continue;
    }
    if (bytes[index] != 0) ledger.candidate += 1;
    uint32_t frames = decoder.counters.frames, echoes = decoder.counters.echoes;
    enum nb_received received = nb_decoder_receive(&decoder, bytes[index], now);
    if (received == NB_RECEIVED_FRAME) {
      fuzz_demand(decoder.counters.frames == frames + 1, "accepted frames are counted (FRM-12)");
      fuzz_demand(!decoder.header.from_device && decoder.header.length <= NB_PAYLOAD_MAX, "a frame is in its limits");
    }
    if (received == NB_RECEIVED_FRAME || decoder.counters.echoes != echoes) ledger.candidate = 0;
    note(&decoder, received, &ledger);
    if (bytes[index] == 0) fuzz_demand(ledger.candidate == 0, "a zero ends a candidate (FRM-8)");
  }
  note(&decoder, nb_decoder_poll(&decoder, now + 1000), &ledger);
  fuzz_demand(ledger.candidate == 0, "silence ends a candidate (FRM-9)");
  fuzz_demand(decoder.counters.text_bytes == ledger.text, "text is counted (FRM-12)");
  return 0;
}
