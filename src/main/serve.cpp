// Wiring of the embedded control plane: loop, store, API server, lifecycle controllers, HTTPS.

#include "main/serve.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apiserver/custom_resources.h"
#include "apiserver/direct_client.h"
#include "apiserver/direct_tokens.h"
#include "apiserver/server.h"
#include "base/log.h"
#include "base/recent_answers.h"
#include "base/strings.h"
#include "client/patient_client.h"
#include "controllers/access/certificate_signing.h"
#include "controllers/access/role_aggregation.h"
#include "controllers/access/token_secrets.h"
#include "controllers/batch/cron_controller.h"
#include "controllers/batch/job_controller.h"
#include "controllers/batch/job_metrics.h"
#include "controllers/batch/pod_gc.h"
#include "controllers/batch/ttl.h"
#include "controllers/lifecycle/after_restore.h"
#include "controllers/lifecycle/api_services.h"
#include "controllers/lifecycle/bootstrap.h"
#include "controllers/lifecycle/definitions.h"
#include "controllers/lifecycle/event_expiry.h"
#include "controllers/lifecycle/garbage_collector.h"
#include "controllers/lifecycle/namespaces.h"
#include "controllers/network/endpoints_controller.h"
#include "controllers/quota/quota_controller.h"
#include "controllers/storage/storage_controller.h"
#include "controllers/training/training_controller.h"
#include "images/local_stores.h"
#include "images/store.h"
#include "main/allocator.h"
#include "main/config.h"
#include "main/credentials.h"
#include "main/pod_network.h"
#include "main/restore.h"
#include "net/loop.h"
#include "net/server.h"
#include "net/unverified_tls.h"
#include "node/agent.h"
#include "node/images/real_node_images.h"
#include "node/images/resolve_image.h"
#include "node/log_archive.h"
#include "node/node_streams.h"
#include "node/real_pod_runtime.h"
#include "node/sandbox_facts.h"
#include "node/server_pod.h"
#include "node/shim_program.h"
#include "node/simulated/played_pods.h"
#include "node/transient.h"
#include "node/usage_meter.h"
#include "node/volume_updates.h"
#include "scheduler/scheduler.h"
#include "store/slow_sync.h"
#include "store/sqlite_log.h"
#include "store/store.h"

namespace yard {
namespace {

// Measured on two cores (docs/performance.md): what goes to many watchers goes out twice as soon,
// and a create is cheaper, since an answer waits less often for another request to be read.
constexpr int kIoThreads = 2;
constexpr std::string_view kPortFile = "port", kPidFile = "server.pid";

// For bench/run alone: so much longer takes a sync of the store.
Duration wanted_sync_delay() {
  constexpr int64_t kMostMs = 1000;
  const char* value = std::getenv("TRAINYARD_SYNC_DELAY_MS");
  const auto wanted = value == nullptr ? std::nullopt : parse_int64(value);
  return std::chrono::milliseconds(std::clamp<int64_t>(wanted.value_or(0), 0, kMostMs));
}

// Tells the one who started us; the message is one line.
void tell(const ServeOptions& options, const std::string& line) {
  if (options.ready_fd < 0) return;
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = write(options.ready_fd, text.data(), text.size());
  close(options.ready_fd);
}

int fail(const ServeOptions& options, const Error& why) {
  log_error("{}", why.message);
  tell(options, "error " + why.message);
  return 1;
}

// A watch is a connection, and so is every client that idles: as many as the system lets us have.
// Half of the descriptors stay for pods, logs and the store.
ServerLimits connection_limits() {
  constexpr rlim_t kWanted = 16'384;
  ServerLimits limits;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  if (files.rlim_cur < kWanted) {
    files.rlim_cur = std::min(files.rlim_max, kWanted);
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) getrlimit(RLIMIT_NOFILE, &files);
  }
  limits.max_connections = std::min<size_t>(limits.max_connections, files.rlim_cur / 2);
  return limits;
}

// A port of ours from last time keeps kubeconfigs good; taken by another program, a free one serves
// instead.
Result<int> listen(HttpServer& server, const StateFolder& folder, const ServeOptions& options,
                   const TlsFiles& tls) {
  if (options.port == 0) {
    const auto kept = folder.read(kPortFile);
    const auto port = kept ? parse_int64(trim(*kept)) : std::nullopt;
    if (port && *port > 0 && *port < 65536) {
      auto again = server.listen_tls(options.address, static_cast<int>(*port), tls);
      if (again) return again;
      log_warning("port {} of the last start is taken; a free one is chosen", *port);
    }
  }
  return server.listen_tls(options.address, options.port, tls);
}

std::string loop_metrics(const AsioLoop::Statistics& loop, const HttpServer::Statistics& http) {
  return fmt::format(
      "# TYPE trainyard_loop_tasks_total counter\ntrainyard_loop_tasks_total {}\n"
      "# HELP trainyard_loop_slow_tasks_total Tasks of the loop that took over 2 ms.\n"
      "# TYPE trainyard_loop_slow_tasks_total counter\ntrainyard_loop_slow_tasks_total {}\n"
      "# TYPE trainyard_loop_queue gauge\ntrainyard_loop_queue {}\n"
      "# TYPE trainyard_connections gauge\ntrainyard_connections {}\n"
      "# TYPE trainyard_connections_refused_total counter\ntrainyard_connections_refused_total {}\n"
      "# TYPE trainyard_received_bytes_total counter\ntrainyard_received_bytes_total {}\n"
      "# TYPE trainyard_sent_bytes_total counter\ntrainyard_sent_bytes_total {}\n",
      loop.tasks, loop.slow_tasks, loop.queued, http.connections, http.refused, http.bytes_in,
      http.bytes_out);
}

std::vector<ServedVersion> served_versions(const KindTable& table) {
  std::vector<ServedVersion> out;
  for (const KindTable::GroupVersion& entry : table.group_versions()) {
    const std::string name =
        entry.group.empty() ? entry.version : entry.group + "/" + entry.version;
    out.push_back({name, !entry.kinds.empty() && entry.kinds.front()->custom});
  }
  return out;
}

// Everything that acts on its own. They begin once the first objects are there.
struct Controllers {
  Controllers(Loop& loop, Client& client, const ClusterIdentity& identity, const std::string& state,
              const DirectTokens& tokens, SignCertificate sign, ApiServices::Served served,
              const Config& config)
      : contents(client, loop, identity),
        role_aggregation(loop, client),
        api_services(loop, client, std::move(served)),
        certificate_signing(loop, client, std::move(sign)),
        token_secrets(
            loop, client,
            [&tokens](const SecretTokenWanted& wanted) {
              return tokens.secret_token(wanted.ns, wanted.account, wanted.account_uid,
                                         wanted.secret);
            },
            identity.ca_pem),
        garbage_collector(loop, client),
        namespaces(loop, client),
        event_expiry(loop, client),
        definitions(client, loop),
        jobs(loop, client),
        cron_jobs(loop, client),
        ttl(loop, client),
        pod_gc(loop, client),
        job_metrics(client),
        endpoints(loop, client),
        quotas(loop, client),
        storage(loop, client, make_volume_folders(loop, state + "/volumes")),
        training(loop, client, training_settings(config)) {}
  static TrainingSettings training_settings(const Config& config) {
    TrainingSettings out;
    out.gang_restart = config.gang_restart;
    out.frees_lost_pods = config.frees_lost_pods;
    out.counts_disruptions = config.counts_disruptions;
    if (const char* domain = std::getenv("CUSTOM_CLUSTER_DOMAIN")) out.cluster_domain = domain;
    std::error_code code;  // without a path launchers bring their own kubectl
    out.exec_program = std::filesystem::read_symlink("/proc/self/exe", code).string();
    return out;
  }
  NamespaceContents contents;
  RoleAggregation role_aggregation;
  ApiServices api_services;
  CertificateSigning certificate_signing;
  TokenSecrets token_secrets;
  GarbageCollector garbage_collector;
  NamespaceTermination namespaces;
  EventExpiry event_expiry;
  Definitions definitions;
  JobController jobs;
  CronController cron_jobs;
  JobTtl ttl;
  PodGc pod_gc;
  JobMetrics job_metrics;
  EndpointsController endpoints;
  QuotaController quotas;
  StorageController storage;
  TrainingController training;
};

// `up` returns when there is a node, so that the first pod finds one. NVML may take its time: then
// only the API is waited for, and the node is there once its GPUs are known.
void start_agent(Agent& agent, Loop& loop, const NodeOptions& node,
                 std::function<void()> say_ready) {
  if (node.simulated > 0 || node.fake_gpus > 0 || !has_gpu_driver()) {
    if (node.simulated == 0) agent.set_gpus(pretended_gpus(node.fake_gpus));
    return agent.start(std::move(say_ready));
  }
  say_ready();
  struct Found {
    std::vector<Gpu> gpus;
    std::string problem;
  };
  auto found = std::make_shared<Found>();
  loop.run_blocking([found] { found->gpus = discover_gpus(found->problem); },
                    [found, &agent] {
                      if (!found->problem.empty())
                        log_warning("GPUs are not offered to pods: {}", found->problem);
                      for (const Gpu& gpu : found->gpus)
                        log_info("GPU {}: {}, {} MiB", gpu.id, gpu.name, gpu.memory_bytes >> 20);
                      agent.set_gpus(std::move(found->gpus));
                      agent.start();
                    });
}

}  // namespace

int serve(StateFolder folder, const ServeOptions& given) {
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_DUMPABLE, 0, 0, 0,
        0);  // a core would hold keys and Secrets; children start afresh at exec
  ServeOptions options = given;
  if (auto made = folder.make(); !made) return fail(options, made.error());
  const auto config = read_config(folder);
  if (!config) return fail(options, config.error());
  if (options.address.empty()) options.address = config->address.value_or("127.0.0.1");
  if (options.port < 0) options.port = config->port.value_or(0);
  if (config->log_level) set_log_level(*config->log_level);
  auto locked = folder.take_lock();
  if (!locked) return fail(options, locked.error());
  if (!*locked) {
    return fail(
        options,
        error(Reason::Conflict,
              fmt::format(
                  "another server (pid {}) uses the state folder {}; stop it with `trainyard down "
                  "--state {}` or choose another folder with --state",
                  folder.running_pid(), folder.path(), folder.path())));
  }
  give_back_memory_at_rest();
  const auto loop = make_asio_loop();
  ServerPodFacts own;
  own.process = read_own_process(loop->now());
  own.process.follows_crash = folder.read(kPidFile).has_value();
  if (!options.restore.empty()) {
    auto restored = restore_into(folder, options.restore, loop->now());
    if (!restored) return fail(options, restored.error());
  }
  auto credentials = prepare_credentials(folder, options.address, loop->now());
  if (!credentials) return fail(options, credentials.error());
  if (const Duration delay = wanted_sync_delay(); delay > Duration{}) slow_down_syncs(delay);
  auto log = open_sqlite_log(folder.store(), *loop);
  if (!log) return fail(options, log.error());
  Store store(*loop, std::move(*log));
  if (auto opened = store.open(); !opened) return fail(options, opened.error());

  const uint64_t seed = seed_from_kernel();
  ApiServerOptions api_options;
  if (config->requests_per_second) {
    api_options.budget.requests_per_second = *config->requests_per_second;
    api_options.budget.burst = 2.0 * *config->requests_per_second;
  }
  ApiServer api(*loop, store, seed, std::move(api_options));
  const auto http = make_http_server(
      [&api](HttpRequest request, std::shared_ptr<Responder> responder) {
        api.handle(std::move(request), std::move(responder));
      },
      connection_limits(), kIoThreads);
  const TlsFiles tls{credentials->server.certificate_pem, credentials->server.key_pem,
                     credentials->ca.certificate_pem};
  auto port = listen(*http, folder, options, tls);
  if (!port) return fail(options, port.error());
  const std::string state = std::filesystem::absolute(folder.path()).lexically_normal().string();
  const bool simulated = options.node.simulated > 0;  // then nothing runs
  PodNetworkWiring network = open_pod_network(*loop, state, config->shared_network || simulated);
  if (const int listener = network.island ? network.island->take_api_listener() : -1;
      listener >= 0) {
    if (auto inside = http->listen_tls_on(listener, tls); !inside)
      return fail(options, inside.error());
  }
  if (auto socket = http->listen_unix(folder.socket()); !socket)
    return fail(options, socket.error());
  const bool everywhere = options.address == "0.0.0.0" || options.address == "::";
  const std::string host = everywhere ? "127.0.0.1" : options.address;
  const std::string address = fmt::format(
      fmt::runtime(host.find(':') != std::string::npos ? "[{}]:{}" : "{}:{}"), host, *port);
  api.set_server_address(address);
  for (const auto& [name, content] :
       {std::pair{std::string(kPortFile), std::to_string(*port) + "\n"},
        std::pair{std::string(kPidFile), std::to_string(getpid()) + "\n"},
        std::pair{std::string("kubeconfig"),
                  kubeconfig_text(*credentials, "https://" + address)}}) {
    if (auto written = folder.write(name, content); !written) return fail(options, written.error());
  }

  auto key = signing_key(folder);
  if (!key) return fail(options, key.error());
  const auto tokens = std::make_shared<const Tokens>(std::move(*key));
  api.set_tokens(tokens);
  DirectTokens token_source(*loop, store, tokens, seed ^ 0x70cea);
  DirectClient direct(
      store, api.committer(), [&api] { return api.kinds(); }, "trainyard");
  direct.use_another_thread();
  PatientClient client(*loop, direct);
  const bool is_loopback = everywhere || host.starts_with("127.") || host == "::1";
  const ClusterIdentity identity{credentials->ca.certificate_pem, *port, is_loopback ? "" : host};
  CustomResources custom_resources(*loop, store, api);
  std::unique_ptr<Controllers> controllers;
  auto shim = install_shim(state);
  if (!shim) return fail(options, shim.error());
  network.network().set_host_api(host, *port);
  RealPodRuntime runtime(*loop, state, *shim, network.network());
  MachineFacts machine = read_machine(state);
  machine.degradations =
      sandbox_degradations({geteuid() == 0, probe_sandbox(*shim, state), runtime.refusals()});
  PlayedPodRuntime played(*loop);
  NodeStreams pod_streams(client, *loop, runtime);
  LogBounds log_bounds;
  if (config->log_retention) log_bounds.retention = *config->log_retention;
  if (config->log_bytes) log_bounds.most_bytes = *config->log_bytes;
  LogArchive log_archive(client, *loop, state + "/logs", log_bounds);
  pod_streams.set_archive(&log_archive);
  api.set_pod_streams(&pod_streams);
  const std::string own_node =
      options.node.name.empty() ? lower(machine.hostname) : options.node.name;
  UsageMeter usage(*loop, runtime, simulated ? "" : own_node, machine.cpus,
                   look_at_machine(state, *loop));
  api.set_usage(&usage);
  NodeOptions node = options.node;
  node.images = config->images;
  node.state_folder = state;
  // A look at the disk takes as long as a tenth of a create: one is good for a moment.
  api.set_create_warnings(
      [images = config->images, store = ImageStore::view(state),
       others = std::make_shared<LocalStores>(
           config->images.stores.value_or(std::vector<std::string>())),
       known = std::make_shared<RecentAnswers>(std::chrono::milliseconds(100), 256),
       &clock = *loop](std::string_view encoded) {
        return image_warnings(encoded, images, [&](std::string_view image) {
          return known->ask(image, clock.now(),
                            [&] { return store.has_image(image) || !others->find(image).empty(); });
        });
      });
  RealNodeImages node_images(
      *loop, {state, {"/proc/self/exe", "image-worker", "--state", state}, config->images});
  std::unique_ptr<Agent> agent;
  std::unique_ptr<VolumeUpdates> volume_updates;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<ServerPod> server_pod;
  pod_streams.set_own_log([&server_pod, file = own_log_file()](const std::string& uid) {
    return server_pod && server_pod->uid() == uid ? file : std::string();
  });
  int exit_code = 0;
  api.add_metrics([&] { return loop_metrics(loop->statistics(), http->statistics()); });
  api.add_metrics([&] { return controllers ? controllers->job_metrics.text() : std::string(); });
  api.add_metrics([&] { return controllers ? controllers->training.metrics() : std::string(); });
  const auto begin = [&] {
    const auto sign = [&](const std::string& request, Duration valid) {
      return sign_client_request(credentials->ca, request, loop->now(), valid);
    };
    controllers = std::make_unique<Controllers>(
        *loop, client, identity, state, token_source, sign,
        [&api] { return served_versions(*api.kinds()); }, *config);
    const bool shares_network = !simulated && network.island == nullptr;
    scheduler = std::make_unique<Scheduler>(client, *loop, shares_network);
    PodRuntime& pods = node.simulated > 0 ? static_cast<PodRuntime&>(played) : runtime;
    if (!simulated) node.network_problem = network.problem();  // from here on it is told
    agent = std::make_unique<Agent>(client, *loop, pods, network.network(), node, machine,
                                    simulated ? nullptr : &token_source);
    agent->set_tls(make_unverified_tls);
    if (!simulated && has_gpu_driver()) agent->set_gpu_processes(gpu_outsiders);
    if (!simulated) agent->set_meter([state] { return read_room(state); }, &usage);
    if (!simulated) {
      agent->set_images(&node_images);
      start_names(network, client, *loop, [&agent](std::string problem) {
        if (agent) agent->set_network_problem(std::move(problem));
      });
    }
    scheduler->set_binding_listener(
        {[&agent](const Object& pod, const std::string& name) { agent->binding_begins(pod, name); },
         [&agent](const std::string& uid) { agent->binding_failed(uid); }});
    volume_updates = std::make_unique<VolumeUpdates>(client, *loop, runtime);
    own.node = node_names(agent->options()).front();
    own.address = node.address;
    server_pod = std::make_unique<ServerPod>(client, *loop, own);
    log_archive.start();
    api.set_ready(true);
    http->start();
    start_agent(*agent, *loop, node, [&] {
      log_info("the control plane answers at https://{} (state folder {})", address, folder.path());
      tell(options, "ready https://" + address);
    });
  };
  loop->post([&] {
    create_initial_objects(client, identity, [&](Result<void> made) {
      if (!made) {
        exit_code = fail(options, made.error());
        loop->stop();
        return;
      }
      if (!folder.read(kRestoredMark)) return begin();
      const auto is_ours = [&](std::string_view name) {
        return simulated ? is_node_of(node, name) : name == lower(machine.hostname);
      };
      settle_restored(client, loop->now(), is_ours, [&] {
        folder.remove(kRestoredMark);
        begin();
      });
    });
  });
  loop->stop_on_signals();
  loop->on_signal(kShutDownSignal, [&] {
    log_info("the node shuts down: pods are ended");
    if (!agent) return loop->stop();
    agent->shut_down([&] { loop->stop(); });
  });
  loop->run();

  api.shut_down();
  http->stop();
  server_pod.reset();
  volume_updates.reset();
  network.names.reset();
  agent.reset();  // pods run on
  scheduler.reset();
  controllers.reset();
  folder.remove(kPidFile);
  folder.remove("api.sock");
  std::error_code missing;
  if (std::filesystem::is_empty(folder.file("run"), missing) || missing)
    settle_transient(folder.path());  // no pod is left that has something in memory
  log_info("stopped");
  return exit_code;
}

}  // namespace yard
