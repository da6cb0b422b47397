#pragma once
// The start order of a training job (design §6.8): a worker's containers start when its master
// runs, and what they connect to the master's port waits in the kernel until that accepts
// (node/sandbox/connect_gate.h). Pure; the agent remembers.

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/json.h"

namespace yard {

// `host:port`; the host is the name of a pod of the same namespace. Without it there is no gate.
inline constexpr std::string_view kWaitForAnnotation = "trainyard.dev/wait-for";
// The reason of the Event that says a wait is long.
inline constexpr std::string_view kGateEvent = "WaitingForMaster";

struct GateAddress {
  std::string host;
  int port = 0;
};
// nullopt: the pod waits for nobody, or names no port that could be asked.
std::optional<GateAddress> gate_address(const Json& pod);

// The pod behind that name, as its object tells.
struct AwaitedPod {
  bool exists = false;
  bool ended = false;
  std::string address;
  std::optional<Time> runs_since;
};
AwaitedPod awaited_pod(const Json& pod);  // null: there is none

// A port whose connections are held until it accepts, or until then.
struct HeldPort {
  std::string address;
  int port = 0;
  Time until{};
};

// What is remembered of a gate between two looks.
struct StartGate {
  std::string name;  // host:port, for people
  std::optional<Time> began;
  bool opened = false;            // once and for all
  std::optional<HeldPort> holds;  // of containers that start behind it
  bool announced = false;         // that it takes long
};

struct GateStep {
  bool opens = false;
  std::optional<Time> holds_until;  // the awaited port, for those who start now
  bool announce = false;
  std::optional<Time> look_again;
};
GateStep gate_step(const StartGate& gate, const AwaitedPod& awaited, Time now);

}  // namespace yard
