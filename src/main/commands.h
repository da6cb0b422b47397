#pragma once
// One function a subcommand: it adds its flags and help to the program and says what to run.

#include <functional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/terminal.h"
#include "main/state_folder.h"

namespace yard {

inline constexpr const char* kVersionText = "trainyard 0.1.0 (speaks Kubernetes v1.34)";

// The headings of the top-level help, in the order of their first command.
inline constexpr const char* kServerCommands = "The control plane";
inline constexpr const char* kObjectCommands = "Objects";
inline constexpr const char* kOtherCommands = "Other";

struct Program {
  CLI::App app{
      "Trainyard runs training jobs written for Kubernetes on this machine: one binary, no "
      "cluster.",
      "trainyard"};
  std::string state;         // --state, before or after the subcommand
  std::function<int()> run;  // what the chosen subcommand does

  CLI::App* add(const std::string& name, const std::string& about, const std::string& examples);
  Result<StateFolder> folder() const { return StateFolder::locate(state); }
};

int print_error(const std::string& message);

// Instead of all of them, where the program is called kubectl (in pods).
int run_as_kubectl(int count, char** arguments);

void add_serve(Program& program);
void add_up(Program& program);
void add_down(Program& program);
void add_restart(Program& program);
void add_backup(Program& program);
void add_status(Program& program);
void add_kubeconfig(Program& program);
void add_version(Program& program);
void add_user(Program& program);
void add_info(Program& program);
void add_get(Program& program);
void add_describe(Program& program);
void add_apply(Program& program);
void add_delete(Program& program);
void add_exec(Program& program);
void add_run(Program& program);
void add_logs(Program& program);
void add_why(Program& program);
void add_wait(Program& program);
void add_top(Program& program);
void add_image(Program& program);
void add_completion(Program& program);
void add_keeper(Program& program);  // hidden

// Shared by up, down and restart.
// This machine as a node, as the command line says it.
struct NodeFlags {
  std::vector<std::string> capacity;  // cpu=6, memory=16Gi
  std::vector<std::string> labels;    // key=value
  int fake_gpus = 0;
  int pod_pids_limit = 0;             // 0: the default of NodeOptions
  std::vector<std::string> simulate;  // nodes=100, cpu=8, memory=64Gi, gpu=8
};

struct StartOptions {
  std::string address;  // empty: the config file's, else 127.0.0.1
  int port = -1;        // below 0: the config file's, else the one kept, else a free one
  NodeFlags node;
  std::string restore = {};  // a backup to start from
};
struct StartedServer {
  std::string url;
  int pid = 0;
};
// Starts one in the background and waits until it answers.
Result<StartedServer> spawn_server(const StateFolder& folder, const StartOptions& options);
int start_server(const StateFolder& folder, const StartOptions& options);
int stop_server(const StateFolder& folder, int signal);

}  // namespace yard
