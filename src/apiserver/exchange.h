#pragma once
// One request on its way through the server: what it asks, who asks, and the one answer it gets.

#include "apiserver/server.h"
#include "apiserver/status.h"

namespace yard {

class ApiServer::Exchange {
 public:
  Exchange(ApiServer& server, HttpRequest asked, std::shared_ptr<Responder> back);
  ~Exchange();

  // Exactly one of these is called.
  void finish(HttpResponse response);
  void fail(const Error& error) { finish(error_response(error, pretty)); }
  void plain(int status, std::string text);
  void turn_away(int retry_after_seconds);         // 429: too much under way for this user
  const std::shared_ptr<Responder>& leave_http();  // 101: whoever asks for it upgrades
  void document(std::string content_type, std::string text);  // 200
  std::shared_ptr<HttpStream> stream(
      std::string content_type = "application/json");  // a watch or a log: 200 and its headers

  Rendering rendering(const Representation& representation) const;

  ApiServer& server;
  HttpRequest request;
  std::shared_ptr<Responder> responder;
  Query query;
  User user;
  std::optional<Time> credential_ends;     // of the token or certificate
  std::shared_ptr<const HeldToken> token;  // null: another credential
  ResourcePath path;
  KindPtr kind;
  KindPtr stored;
  RequestLabels labels;
  RequestBudget::Seat seat;  // until the answer is made
  bool pretty = false;
  std::vector<std::string> warnings;

 private:
  std::atomic<int>& in_flight() {
    return reads_ ? metrics_->reads_in_flight : metrics_->writes_in_flight;
  }
  void add_common_headers(Headers& headers);
  void count(int code);
  // A request whose write waits in the store may outlive the server that took it.
  std::shared_ptr<RequestMetrics> metrics_;
  Time began_;
  bool answered_ = false;
  bool reads_ = true;
};

}  // namespace yard
