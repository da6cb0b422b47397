#pragma once
// The other end of net/process_session.h, for our own command line: a process of a pod at this
// program's terminal, over the server's Unix socket or TLS. Blocking.

#include <string>

#include "base/result.h"
#include "net/client.h"

namespace yard {

struct RemoteProcess {
  ClientTarget server;
  std::string target;  // the path and query of exec or attach
  int input = -1;      // -1: none is sent
  int output = 1, errors = 2;
  bool terminal = false;  // sends the size of `output`, and each new one
};
struct RemoteProcessEnd {
  int http_status = 101;  // another: the server refused, and `text` is what it said
  std::string text;       // the Status of the error channel; "": the connection broke before
};
Result<RemoteProcessEnd> run_remote_process(const RemoteProcess& process);

}  // namespace yard
