#pragma once
// What can go wrong with a registry, as types: whether another login, another mirror or another
// moment helps, and which words tell the user what to do.

#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

enum class RegistryFault {
  Unauthorized,    // not logged in, or with a wrong password
  Denied,          // logged in, and still not allowed
  NotFound,        // no such repository, tag or blob
  TooMany,         // asked too often
  Unavailable,     // nobody answers, or the server is broken
  Untrusted,       // its certificate is not one we trust, or it speaks no TLS
  BadAnswer,       // it speaks, but not the protocol
  BadManifest,     // what it has is no manifest we can use
  DigestMismatch,  // the bytes are not those that were asked for
};
const char* wire_name(RegistryFault fault);

// An Error that carries its fault and the mend: details.causes has one entry with the fault's name
// as reason and the mend as message, so that both survive being sent from one process to another.
Error registry_error(RegistryFault fault, std::string message);
// BadAnswer for an error that is not a registry's.
RegistryFault fault_of(const Error& failure);
std::string mend_of(const Error& failure);  // "" when there is none
void set_mend(Error& failure, std::string mend);

// The one text a pod's status has room for: what went wrong, and then the mend, if there is one.
std::string with_mend(const Error& failure);
// Such a text taken apart again, for those who show the two in two places.
struct WordsAndMend {
  std::string_view words, mend;
};
WordsAndMend split_mend(std::string_view text);

struct MendFacts {
  std::string_view registry;  // as the image names it
  bool had_login = false;     // a user name and a password were sent
};
// One or two sentences: login, mirror or map.
std::string mend_for(RegistryFault fault, const MendFacts& facts);

// What a registry said in the body of an error, in its own words, short and printable; "" when it
// said nothing that can be read.
std::string registry_words(std::string_view body);

}  // namespace yard
