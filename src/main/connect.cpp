#include "main/connect.h"

#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

#include "net/client.h"
#include "net/loop.h"

namespace yard {
namespace {

class SocketConnection : public ServerConnection {
 public:
  explicit SocketConnection(const StateFolder& folder) : folder_(folder) {
    ClientTarget target;
    target.unix_path = folder.socket();
    client_ = make_http_client(std::move(target));
  }

  Result<Reply> call(const std::string& method, const std::string& target,
                     const HeaderList& headers, const std::string& body) override {
    return reply(client_->call(method, target, headers, body));
  }

  Result<Reply> stream(const std::string& target, const HeaderList& headers,
                       const std::function<bool(std::string_view)>& chunk) override {
    return reply(client_->stream(target, headers, chunk));
  }

 private:
  Result<Reply> reply(Result<ClientResponse> response) const {
    if (response)
      return Reply{response->status, std::move(response->headers), std::move(response->body)};
    const int pid = folder_.running_pid();
    if (pid == 0) {
      return error(Reason::ServiceUnavailable,
                   fmt::format("no control plane runs for {}; start it with `trainyard up`",
                               folder_.path()));
    }
    return error(Reason::ServiceUnavailable,
                 fmt::format("the control plane (pid {}) does not answer: {}", pid,
                             response.error().message));
  }

  const StateFolder& folder_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace

std::unique_ptr<ServerConnection> connect_to(const StateFolder& folder) {
  return std::make_unique<SocketConnection>(folder);
}

Terminal standard_terminal() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool is_plain = (no_color != nullptr && *no_color != '\0') || kind == nullptr ||
                        std::string_view(kind) == "dumb";
  return Terminal{std::cout, std::cerr, !is_plain && isatty(STDOUT_FILENO) == 1,
                  make_asio_loop()->now()};
}

int with_session(const Program& program, const std::function<int(Session&)>& command) {
  auto folder = program.folder();
  if (!folder) return print_error(folder.error().message);
  const auto connection = connect_to(*folder);
  Terminal terminal = standard_terminal();
  Session session(*connection, terminal);
  const int code = command(session);
  std::cout.flush();
  return code;
}

CLI::Option* add_namespace_flag(CLI::App* command, std::string& name_space) {
  return command->add_option("-n,--namespace", name_space, "the namespace")->capture_default_str();
}

}  // namespace yard
