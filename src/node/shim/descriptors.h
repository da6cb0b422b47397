#pragma once
// Messages that carry open descriptors, on a SEQPACKET socket.

#include <string>
#include <sys/types.h>
#include <vector>

namespace shim {

// As recv; what came along is open in this process from now on, and closes on exec. Where not all of
// it could come, none has: whoever needs some refuses the message, as it would one without any.
ssize_t receive_message(int socket, char* buffer, size_t size, std::vector<int>& descriptors);
// False when it did not go out. `descriptor` stays the caller's.
bool send_message(int socket, const std::string& text, int descriptor = -1);
bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors);

}  // namespace shim
