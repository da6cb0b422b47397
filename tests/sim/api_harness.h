#pragma once
// The real store and API server on a simulated loop and disk, asked as HTTP clients ask.
// Header-only: unit tests of apiserver/ and the simulations share it.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apiserver/server.h"
#include "base/strings.h"
#include "json/json.h"
#include "sim/sim_log.h"
#include "testing/sim_loop.h"

namespace yard {

struct Answer {
  int status = 0;
  Headers headers;
  std::string text;
  Json json;  // null when the body is no JSON
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (equals_ignore_case(key, name)) return value;
    }
    return "";
  }
};

// A stream a test reads lines from.
class SimStream : public HttpStream {
 public:
  void write(SharedBytes bytes) override {
    text += *bytes;
    queued += stuck ? bytes->size() : 0;
  }
  void close() override {
    closed = true;
    if (on_close) on_close();
  }
  size_t queued_bytes() const override { return queued; }
  void on_closed(std::function<void()> callback) override { on_close = std::move(callback); }

  // The events that have come since the last call.
  std::vector<Json> take_events() {
    std::vector<Json> out;
    for (size_t end = text.find('\n', taken); end != std::string::npos;
         end = text.find('\n', taken)) {
      auto parsed = parse_json(std::string_view(text).substr(taken, end - taken));
      EXPECT_TRUE(parsed.has_value()) << text.substr(taken, end - taken);
      if (parsed) out.push_back(std::move(parsed->value));
      taken = end + 1;
    }
    return out;
  }

  std::string text;
  size_t taken = 0, queued = 0;
  bool closed = false, stuck = false;  // stuck: a client that reads nothing
  std::function<void()> on_close;
};

class SimResponder : public Responder {
 public:
  explicit SimResponder(Loop& loop, bool parses = true) : loop_(loop), parses_(parses) {}
  void send(HttpResponse response) override {
    EXPECT_FALSE(answered) << "one request, one answer";
    answered = true;
    answer.status = response.status;
    answer.headers = response.headers;
    for (const auto& bytes : response.body)
      answer.text += *bytes;
    for (const auto slice : response.slices)
      answer.text += slice;
    if (!parses_) return;
    if (auto parsed = parse_json(answer.text)) answer.json = std::move(parsed->value);
  }
  std::shared_ptr<HttpStream> stream(int status, Headers headers) override {
    answered = true;
    answer.status = status;
    answer.headers = std::move(headers);
    streamed = std::make_shared<SimStream>();
    return streamed;
  }
  void upgrade(Headers headers, std::function<void(std::shared_ptr<Tunnel>)>) override {
    answered = true;
    answer.status = 101;
    answer.headers = std::move(headers);
  }
  void run_on_io(std::function<void()> task) override { loop_.post(std::move(task)); }

  Answer answer;
  bool answered = false;
  std::shared_ptr<SimStream> streamed;

 private:
  Loop& loop_;
  const bool parses_;
};

class ApiHarness {
 public:
  explicit ApiHarness(uint64_t seed = 1, SimLogFaults disk_faults = {})
      : faults(disk_faults), loop(seed), disk(std::make_shared<SimDisk>()), seed_(seed) {
    start();
  }

  // A new server on what the disk kept.
  void start() {
    auto sim_log = std::make_unique<SimLog>(loop, disk, ++seed_, faults);
    log = sim_log.get();
    store = std::make_unique<Store>(loop, std::move(sim_log));
    const auto opened = store->open();
    check(opened.has_value(), "the simulated store opens");
    api = std::make_unique<ApiServer>(loop, *store, seed_);
    api->set_ready(true);
  }
  void crash() {
    log->crash();
    api.reset();
    store.reset();
  }

  std::shared_ptr<SimResponder> send(const std::string& method, const std::string& target,
                                     std::string body = "", Headers headers = {}) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.body = std::move(body);
    request.peer.local_owner = true;
    auto responder = std::make_shared<SimResponder>(loop, parses_answers);
    api->handle(std::move(request), responder);
    return responder;
  }
  Answer call(const std::string& method, const std::string& target, std::string body = "",
              Headers headers = {}) {
    const auto responder = send(method, target, std::move(body), std::move(headers));
    EXPECT_TRUE(loop.run_until([&] { return responder->answered; }, std::chrono::minutes(1)))
        << method << " " << target << " got no answer";
    return responder->answer;
  }
  Answer patch(const std::string& target, std::string body, const std::string& type = "merge") {
    const std::string content =
        type == "apply" ? "application/apply-patch+yaml"
                        : "application/" + type + (type == "json" ? "-patch+json" : "-patch+json");
    return call("PATCH", target, std::move(body), {{"Content-Type", content}});
  }
  std::shared_ptr<SimStream> watch(const std::string& target, Headers headers = {}) {
    const auto responder = send("GET", target, "", std::move(headers));
    EXPECT_TRUE(loop.run_until([&] { return responder->answered; }, std::chrono::minutes(1)));
    EXPECT_NE(responder->streamed, nullptr) << responder->answer.text;
    return responder->streamed;
  }
  void make_namespace(const std::string& name) {
    const Answer made =
        call("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"" + name + "\"}}");
    EXPECT_EQ(made.status, 201) << made.text;
  }

  SimLogFaults faults;         // of servers started from now on
  bool parses_answers = true;  // simulations that look at the code alone save the time
  SimLoop loop;
  std::shared_ptr<SimDisk> disk;
  SimLog* log = nullptr;
  std::unique_ptr<Store> store;
  std::unique_ptr<ApiServer> api;

 private:
  uint64_t seed_;
};

}  // namespace yard
