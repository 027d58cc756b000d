#include "ranks.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operations.hpp"

namespace testbed {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC: one clock for all namespaces

constexpr std::size_t kTextBytes = 240;
constexpr auto kPoll = std::chrono::microseconds(200);
constexpr auto kLead = std::chrono::milliseconds(10);  // from agreement to start: every rank is awake by then

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// What ranks and their parent share.
struct RankState {
  std::atomic<int> step{-1};       ///< repetition it is in, over all runs; -1: connecting
  std::atomic<bool> ready{false};  ///< has prepared the repetition and waits for its start, or is in it
  std::atomic<bool> running{false};
  std::atomic<bool> failed{false};
  char text[kTextBytes] = {};  ///< why it failed; written before `failed`
};
struct StepState {
  std::atomic<int> arrived{0};
  std::atomic<std::int64_t> start_ns{0};  ///< 0: not all have arrived
};

class Shared {
 public:
  Shared(std::size_t ranks, std::size_t steps) : ranks_(ranks), steps_(steps) {
    bytes_ = ranks * sizeof(RankState) + steps * sizeof(StepState) +
             ranks * steps * sizeof(std::atomic<std::int64_t>);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      throw UserError(fmt::format("no memory for the state of {} ranks", ranks));
    }
    char* at = static_cast<char*>(memory_);
    rank_ = reinterpret_cast<RankState*>(at);
    step_ = reinterpret_cast<StepState*>(at + ranks * sizeof(RankState));
    end_ = reinterpret_cast<std::atomic<std::int64_t>*>(at + ranks * sizeof(RankState) +
                                                        steps * sizeof(StepState));
    for (std::size_t i = 0; i < ranks; ++i) {
      new (rank_ + i) RankState;
    }
    for (std::size_t i = 0; i < steps; ++i) {
      new (step_ + i) StepState;
    }
    for (std::size_t i = 0; i < ranks * steps; ++i) {
      new (end_ + i) std::atomic<std::int64_t>(0);
    }
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(memory_, bytes_); }

  RankState& rank(std::size_t rank) { return rank_[rank]; }
  StepState& step(std::size_t step) { return step_[step]; }
  std::atomic<std::int64_t>& end(std::size_t step, std::size_t rank) { return end_[step * ranks_ + rank]; }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  std::size_t ranks_;
  std::size_t steps_;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  RankState* rank_ = nullptr;
  StepState* step_ = nullptr;
  std::atomic<std::int64_t>* end_ = nullptr;
};

void enter_namespace(const std::string& name) {
  const std::string path = "/run/netns/" + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) != 0) {
    throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  close(file);
}

/// Waits until all ranks stand at the step, then until its start.
void meet(Shared& shared, std::size_t step) {
  StepState& state = shared.step(step);
  if (state.arrived.fetch_add(1) + 1 == static_cast<int>(shared.ranks())) {
    state.start_ns = now_ns() + std::chrono::nanoseconds(kLead).count();
  }
  while (state.start_ns == 0) {
    std::this_thread::sleep_for(kPoll);
  }
  std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(state.start_ns.load())));
}

/// The life of one rank.
void be_rank(int rank,
             const std::vector<Run>& runs,
             const Settings& settings,
             const std::string& store_path,
             Shared& shared) {
  if (!settings.namespaces.empty()) {
    enter_namespace(settings.namespaces + std::to_string(rank));
  }
  gloo::transport::tcp::attr attributes;
  attributes.iface = settings.interface;
  attributes.ai_family = AF_INET;
  const auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(store_path);
  std::map<std::vector<int>, std::shared_ptr<gloo::rendezvous::Context>> contexts;
  // All members of a group connect at the same time: groups in the order of the plan.
  for (const Run& run : runs) {
    for (const Call& call : run.calls) {
      const auto place = std::find(call.members.begin(), call.members.end(), rank);
      if (place == call.members.end() || contexts.contains(call.members)) {
        continue;
      }
      auto context = std::make_shared<gloo::rendezvous::Context>(
          static_cast<int>(place - call.members.begin()), static_cast<int>(call.members.size()));
      context->setTimeout(2 * settings.timeout);  // the parent names who is late; Gloo would name who waits
      gloo::rendezvous::PrefixStore own(fmt::format("group-{}", fmt::join(call.members, "-")), store);
      std::shared_ptr<gloo::transport::Device> shared_device = device;
      context->connectFullMesh(own, shared_device);
      contexts.emplace(call.members, std::move(context));
    }
  }
  RankState& mine = shared.rank(static_cast<std::size_t>(rank));
  std::size_t step = 0;
  const int repetitions = settings.warmup + settings.iterations;
  for (const Run& run : runs) {
    mine.ready = false;
    mine.step = static_cast<int>(step);
    std::optional<Operation> operation;
    for (const Call& call : run.calls) {
      if (std::find(call.members.begin(), call.members.end(), rank) != call.members.end()) {
        operation = make_operation(call, contexts.at(call.members), 2 * settings.timeout);
      }
    }
    for (int repetition = 0; repetition < repetitions; ++repetition, ++step) {
      mine.ready = false;
      mine.step = static_cast<int>(step);
      if (operation) {
        operation->fill();
      }
      mine.ready = true;
      meet(shared, step);
      if (!operation) {
        continue;
      }
      mine.running = true;
      operation->run();
      shared.end(step, static_cast<std::size_t>(rank)) = now_ns();
      mine.running = false;
      if (const std::string problem = operation->check(); !problem.empty()) {
        throw std::runtime_error("wrong result: " + problem);
      }
    }
  }
  mine.step = static_cast<int>(step);
}

volatile std::sig_atomic_t interrupted = 0;
void on_signal(int /*signal*/) {
  interrupted = 1;
}

/// A process that was stopped is why others wait.
bool is_stopped(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(stat, text);
  const std::size_t state = text.rfind(')');
  return state != std::string::npos && state + 2 < text.size() &&
         (text[state + 2] == 'T' || text[state + 2] == 't');
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Where a rank stands, in words.
std::string standing(const std::vector<Run>& runs, const Settings& settings, int step) {
  if (step < 0) {
    return "while connecting";
  }
  const int repetitions = settings.warmup + settings.iterations;
  const auto run = static_cast<std::size_t>(step / repetitions);
  if (run >= runs.size()) {
    return "after the last run";
  }
  const int repetition = step % repetitions;
  return fmt::format("in run {}, {} {}", runs[run].id,
                     repetition < settings.warmup ? "warm-up" : "repetition",
                     repetition < settings.warmup ? repetition + 1 : repetition - settings.warmup + 1);
}

}  // namespace

Outcome measure(const std::vector<Run>& runs, const Settings& settings) {
  const auto hosts = static_cast<std::size_t>(settings.hosts);
  const auto repetitions = static_cast<std::size_t>(settings.warmup + settings.iterations);
  Shared shared(hosts, runs.size() * repetitions);
  std::string store = (std::filesystem::temp_directory_path() / "stepcast-gloo-XXXXXX").string();
  if (mkdtemp(store.data()) == nullptr) {
    throw UserError(fmt::format("{}: {}", store, std::strerror(errno)));
  }
  struct sigaction action = {};
  action.sa_handler = &on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
  std::vector<pid_t> processes(hosts, -1);
  Outcome outcome;
  const pid_t parent = getpid();
  for (std::size_t rank = 0; rank < hosts && outcome.failure.empty(); ++rank) {
    processes[rank] = fork();
    if (processes[rank] < 0) {
      outcome.failure = fmt::format("rank {}: no process: {}", rank, std::strerror(errno));
    } else if (processes[rank] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // no rank outlives its parent, however that ends
      if (getppid() != parent) {
        _exit(1);
      }
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(signal, SIG_IGN);  // the parent ends the ranks
      }
      RankState& mine = shared.rank(rank);
      try {
        be_rank(static_cast<int>(rank), runs, settings, store, shared);
        _exit(0);
      } catch (const std::exception& error) {
        std::strncpy(mine.text, first_line(error.what()).c_str(), kTextBytes - 1);
        mine.failed = true;
        _exit(1);
      }
    }
  }
  std::vector<bool> ended(hosts, false);
  int last_step = -2;
  auto progress = Clock::now();
  while (outcome.failure.empty() && std::find(ended.begin(), ended.end(), false) != ended.end()) {
    if (interrupted != 0) {
      outcome.failure = "interrupted";
      outcome.interrupted = true;
      break;
    }
    std::vector<std::size_t> dead;
    for (std::size_t rank = 0; rank < hosts; ++rank) {
      int status = 0;
      if (ended[rank] || waitpid(processes[rank], &status, WNOHANG) != processes[rank]) {
        continue;
      }
      ended[rank] = true;
      processes[rank] = -1;
      const std::string where = standing(runs, settings, shared.rank(rank).step);
      // A rank that was killed is why others then fail: it is named first.
      if (WIFSIGNALED(status)) {
        outcome.failure = fmt::format("rank {} died {} (signal {})", rank, where, WTERMSIG(status));
      } else if (status != 0) {
        dead.push_back(rank);
      }
    }
    if (outcome.failure.empty() && !dead.empty()) {
      // What one rank throws, its peers throw too as their connections break; a death by a signal says more.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (std::size_t rank = 0; rank < hosts; ++rank) {
        int status = 0;
        if (!ended[rank] && waitpid(processes[rank], &status, WNOHANG) == processes[rank]) {
          ended[rank] = true;
          processes[rank] = -1;
          if (WIFSIGNALED(status)) {
            outcome.failure = fmt::format("rank {} died {} (signal {})", rank,
                                          standing(runs, settings, shared.rank(rank).step), WTERMSIG(status));
          }
        }
      }
      if (outcome.failure.empty()) {
        const RankState& state = shared.rank(dead.front());
        outcome.failure =
            fmt::format("rank {} failed {}: {}", dead.front(), standing(runs, settings, state.step),
                        state.failed ? state.text : "it ended by itself");
      }
    }
    int slowest = static_cast<int>(shared.steps());
    for (std::size_t rank = 0; rank < hosts; ++rank) {
      slowest = std::min(slowest, shared.rank(rank).step.load());
    }
    if (slowest != last_step) {
      last_step = slowest;
      progress = Clock::now();
    } else if (outcome.failure.empty() && Clock::now() - progress > settings.timeout) {
      // Who is stopped, else who is not ready yet, else who is in the call.
      std::vector<std::size_t> stopped;
      std::vector<std::size_t> unready;
      std::vector<std::size_t> running;
      for (std::size_t rank = 0; rank < hosts; ++rank) {
        const RankState& state = shared.rank(rank);
        if (processes[rank] > 0 && is_stopped(processes[rank])) {
          stopped.push_back(rank);
        } else if (state.step == slowest && !state.ready) {
          unready.push_back(rank);
        } else if (state.step == slowest && state.running) {
          running.push_back(rank);
        }
      }
      const auto& late = !stopped.empty() ? stopped : !unready.empty() ? unready : running;
      const char* how = !stopped.empty()   ? "stopped"
                        : !unready.empty() ? "did not come to it"
                                           : "did not end the call";
      outcome.failure = fmt::format("no end after {} s {}: rank{} {} {}", settings.timeout.count() / 1000,
                                    standing(runs, settings, slowest), late.size() == 1 ? "" : "s",
                                    fmt::join(late, ", "), how);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const pid_t process : processes) {
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(store, ignored);

  for (std::size_t run = 0; run < runs.size(); ++run) {
    std::vector<Measured>& calls = outcome.runs.emplace_back(runs[run].calls.size());
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (std::size_t i = static_cast<std::size_t>(settings.warmup); i < repetitions; ++i) {
        const std::size_t step = run * repetitions + i;
        std::int64_t end = 0;
        bool whole = true;
        for (const int member : runs[run].calls[call].members) {
          const std::int64_t its = shared.end(step, static_cast<std::size_t>(member));
          whole = whole && its > 0;
          end = std::max(end, its);
        }
        if (whole) {
          calls[call].seconds.push_back(static_cast<double>(end - shared.step(step).start_ns) * 1e-9);
        }
      }
    }
  }
  return outcome;
}

}  // namespace testbed
