// Any bytes behind a good envelope: each kind of body must be answered without reading past the
// end.

#include <cstddef>
#include <cstdint>
#include <string>

#include "api/schema/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace yard;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)decode_protobuf(bytes, builtin_schema_of);
  constexpr std::string_view kEnvelopes[] = {
      std::string_view("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod", 15),
      std::string_view("k8s\0\x0a\x0f\x0a\x08"
                       "batch/v1\x12\x03Job",
                       21),
  };
  for (const std::string_view envelope : kEnvelopes) {
    std::string body(envelope);
    body += '\x12';
    for (size_t rest = size;; rest >>= 7) {
      body += static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
      if (rest < 0x80) break;
    }
    body += bytes;
    Result<ProtobufObject> object = decode_protobuf(body, builtin_schema_of);
    if (!object) continue;
    const Schema* schema = builtin_schema_of(object->api_version, object->kind);
    Result<DecodeFindings> findings = conform(object->value, *schema, object->kind);
    if (findings && !findings->unknown_fields.empty()) __builtin_trap();
  }
  return 0;
}
