#pragma once
// The small judgements that many kinds' validation is made of. Each appends what is wrong to
// `errors`.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_errors.h"
#include "api/tree.h"

namespace yard {

void append_errors(FieldErrors& errors, FieldErrors more);
// One Invalid per problem.
void add_problems(FieldErrors& errors, const FieldPath& path, std::string_view value,
                  const std::vector<std::string>& problems);

// `allowed` in the order the message lists them. Absent or "" passes unless it is Required.
enum class Presence { Optional, Required };
void check_one_of(FieldErrors& errors, const FieldPath& path, const Json* value,
                  const std::vector<std::string>& allowed, Presence presence = Presence::Optional);

void check_immutable(FieldErrors& errors, const FieldPath& path, const Json* now,
                     const Json* before);

void check_port(FieldErrors& errors, const FieldPath& path, int64_t port);
std::vector<std::string> port_name_problems(std::string_view name);

bool is_ipv4(std::string_view text);
bool is_ip(std::string_view text);
void check_ip(FieldErrors& errors, const FieldPath& path, std::string_view text);
// Addresses a client can be sent to: not unspecified, loopback, link-local or multicast.
void check_endpoint_ip(FieldErrors& errors, const FieldPath& path, std::string_view text);

// Keys of ConfigMap.data and Secret.data.
std::vector<std::string> config_key_problems(std::string_view key);

extern const char* const kFieldIsImmutable;  // "field is immutable"

}  // namespace yard
