#include "operations.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/types.h>

namespace testbed {
namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

/// What member `member` holds at element `i`: small whole numbers, whose sums are exact in any order.
float value(int member, std::size_t i) {
  return static_cast<float>(static_cast<std::size_t>(member) * 3 + 1 + i % 61);
}

float sum_of(int members, std::size_t i) {
  float sum = 0;
  for (int member = 0; member < members; ++member) {
    sum += value(member, i);
  }
  return sum;
}

/// Buffers live as long as the operation.
struct Buffers {
  std::vector<float> in;
  std::vector<float> out;
};

/// First element of [first, first + count) that is not `expected(i)`.
template <typename Expected>
std::string differs(const std::vector<float>& data,
                    std::size_t first,
                    std::size_t count,
                    const Expected& expected) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (data[i] != expected(i)) {
      return fmt::format("element {} is {}, not {}", i, data[i], expected(i));
    }
  }
  return {};
}

Operation all_reduce(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  const std::size_t count = call.bytes / sizeof(float);
  const auto buffers = std::make_shared<Buffers>();
  buffers->out.resize(count);
  const int members = context->size;
  const int rank = context->rank;
  Operation operation;
  operation.fill = [=] {
    for (std::size_t i = 0; i < count; ++i) {
      buffers->out[i] = value(rank, i);
    }
  };
  operation.check = [=] {
    return differs(buffers->out, 0, count, [members](std::size_t i) { return sum_of(members, i); });
  };
  if (call.algorithm == "halving_doubling") {
    const auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
        context, std::vector<float*>{buffers->out.data()}, static_cast<int>(count));
    operation.run = [=] { algorithm->run(); };
    return operation;
  }
  operation.run = [=, ring = call.algorithm == "ring"] {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(ring ? gloo::AllreduceOptions::Algorithm::RING
                              : gloo::AllreduceOptions::Algorithm::BCUBE);
    options.setOutput(buffers->out.data(), count);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    options.setTimeout(timeout);
    gloo::allreduce(options);
  };
  return operation;
}

Operation reduce_scatter(const Call& call, const Context& context) {
  const std::size_t count = call.bytes / sizeof(float);
  const std::size_t part = count / static_cast<std::size_t>(context->size);
  const auto buffers = std::make_shared<Buffers>();
  buffers->out.resize(count);
  const int members = context->size;
  const int rank = context->rank;
  const auto algorithm = std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
      context, std::vector<float*>{buffers->out.data()}, static_cast<int>(count),
      std::vector<int>(static_cast<std::size_t>(members), static_cast<int>(part)));
  const std::size_t first = part * static_cast<std::size_t>(rank);
  return {[=] {
            for (std::size_t i = 0; i < count; ++i) {
              buffers->out[i] = value(rank, i);
            }
          },
          [=] { algorithm->run(); },
          [=] {  // a member's part comes to the begin of its buffer
            return differs(buffers->out, 0, part, [=](std::size_t i) { return sum_of(members, first + i); });
          }};
}

/// All pairs at once, every receive posted before the first send. gloo::alltoall posts them the other way
/// round: the word "ready to receive" then queues behind the data of the same connection, and many pairs take
/// turns.
void receive_first(gloo::rendezvous::Context& context,
                   Buffers& buffers,
                   std::size_t part,
                   std::chrono::milliseconds timeout) {
  constexpr std::uint64_t kSlot = 0x7e58;
  const int members = context.size;
  const auto rank = static_cast<std::size_t>(context.rank);
  const std::size_t bytes = part * sizeof(float);
  const auto in = context.createUnboundBuffer(buffers.in.data(), bytes * static_cast<std::size_t>(members));
  const auto out = context.createUnboundBuffer(buffers.out.data(), bytes * static_cast<std::size_t>(members));
  std::copy_n(buffers.in.begin() + static_cast<std::ptrdiff_t>(rank * part), part,
              buffers.out.begin() + static_cast<std::ptrdiff_t>(rank * part));
  for (int distance = 1; distance < members; ++distance) {
    const int from = (context.rank + members - distance) % members;
    out->recv(from, kSlot, static_cast<std::size_t>(from) * bytes, bytes);
  }
  for (int distance = 1; distance < members; ++distance) {
    const int to = (context.rank + distance) % members;
    in->send(to, kSlot, static_cast<std::size_t>(to) * bytes, bytes);
  }
  for (int peer = 1; peer < members; ++peer) {
    in->waitSend(timeout);
    out->waitRecv(timeout);
  }
}

Operation all_to_all(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  const std::size_t count = call.bytes / sizeof(float);
  const std::size_t part = count / static_cast<std::size_t>(context->size);
  const auto buffers = std::make_shared<Buffers>();
  buffers->in.resize(count);
  buffers->out.resize(count);
  const auto rank = static_cast<std::size_t>(context->rank);
  return {[=] {
            for (std::size_t i = 0; i < count; ++i) {
              buffers->in[i] = value(static_cast<int>(rank), i);
            }
            std::fill(buffers->out.begin(), buffers->out.end(), 0.0F);
          },
          [=, direct = call.algorithm == "direct"] {
            if (direct) {
              receive_first(*context, *buffers, part, timeout);
              return;
            }
            gloo::AlltoallOptions options(context);
            options.setInput(buffers->in.data(), count);
            options.setOutput(buffers->out.data(), count);
            options.setTimeout(timeout);
            gloo::alltoall(options);
          },
          [=] {
            return differs(buffers->out, 0, count, [=](std::size_t i) {
              return value(static_cast<int>(i / part), rank * part + i % part);
            });
          }};
}

Operation all_gather(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  const std::size_t count = call.bytes / sizeof(float);
  const std::size_t part = count / static_cast<std::size_t>(context->size);
  const auto buffers = std::make_shared<Buffers>();
  buffers->in.resize(part);
  buffers->out.resize(count);
  const int rank = context->rank;
  return {[=] {
            for (std::size_t i = 0; i < part; ++i) {
              buffers->in[i] = value(rank, i);
            }
            std::fill(buffers->out.begin(), buffers->out.end(), 0.0F);
          },
          [=] {
            gloo::AllgatherOptions options(context);
            options.setInput(buffers->in.data(), part);
            options.setOutput(buffers->out.data(), count);
            options.setTimeout(timeout);
            gloo::allgather(options);
          },
          [=] {
            return differs(buffers->out, 0, count,
                           [=](std::size_t i) { return value(static_cast<int>(i / part), i % part); });
          }};
}

Operation broadcast(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  const std::size_t count = call.bytes / sizeof(float);
  const auto buffers = std::make_shared<Buffers>();
  buffers->out.resize(count);
  const int rank = context->rank;
  return {[=] {
            for (std::size_t i = 0; i < count; ++i) {
              buffers->out[i] = rank == 0 ? value(0, i) : 0;
            }
          },
          [=] {
            gloo::BroadcastOptions options(context);
            options.setOutput(buffers->out.data(), count);
            options.setRoot(0);
            options.setTimeout(timeout);
            gloo::broadcast(options);
          },
          [=] { return differs(buffers->out, 0, count, [](std::size_t i) { return value(0, i); }); }};
}

/// As sendrecv_perf of nccl-tests: every member sends its buffer to the next one.
Operation send_recv(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  const std::size_t count = call.bytes / sizeof(float);
  const auto buffers = std::make_shared<Buffers>();
  buffers->in.resize(count);
  buffers->out.resize(count);
  const int members = context->size;
  const int rank = context->rank;
  constexpr std::uint64_t kSlot = 0x7e57;
  // Gloo's buffers want to outlive their operations only.
  return {[=] {
            for (std::size_t i = 0; i < count; ++i) {
              buffers->in[i] = value(rank, i);
            }
            std::fill(buffers->out.begin(), buffers->out.end(), 0.0F);
          },
          [=] {
            const auto in = context->createUnboundBuffer(buffers->in.data(), call.bytes);
            const auto out = context->createUnboundBuffer(buffers->out.data(), call.bytes);
            out->recv((rank + members - 1) % members, kSlot);
            in->send((rank + 1) % members, kSlot);
            out->waitRecv(timeout);
            in->waitSend(timeout);
          },
          [=] {
            return differs(buffers->out, 0, count,
                           [=](std::size_t i) { return value((rank + members - 1) % members, i); });
          }};
}

}  // namespace

Operation make_operation(const Call& call, const Context& context, std::chrono::milliseconds timeout) {
  if (call.kind == "all_reduce") {
    return all_reduce(call, context, timeout);
  }
  if (call.kind == "reduce_scatter") {
    return reduce_scatter(call, context);
  }
  if (call.kind == "all_to_all") {
    return all_to_all(call, context, timeout);
  }
  if (call.kind == "all_gather") {
    return all_gather(call, context, timeout);
  }
  if (call.kind == "broadcast") {
    return broadcast(call, context, timeout);
  }
  return send_recv(call, context, timeout);
}

}  // namespace testbed
