#include "workload/program_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace stepcast::workload {

using program::Operation;
using program::OpKind;

ProgramBuilder::ProgramBuilder(std::string name) {
  using program::StreamKind;
  program_.name = std::move(name);
  program_.streams = {{"compute", StreamKind::kCompute},
                      {"tp", StreamKind::kCommunication},
                      {"dp", StreamKind::kCommunication},
                      {"send forward", StreamKind::kCommunication},
                      {"receive forward", StreamKind::kCommunication},
                      {"send backward", StreamKind::kCommunication},
                      {"receive backward", StreamKind::kCommunication},
                      {"storage", StreamKind::kCopy}};
}

std::uint32_t ProgramBuilder::add_slot(std::string name, program::SlotKind kind) {
  program_.slots.push_back({std::move(name), kind});
  return static_cast<std::uint32_t>(program_.slots.size() - 1);
}

void ProgramBuilder::after(std::uint32_t operation, program::EdgeKind edge) {
  if (operation != Operation::kNone) {
    pending_.push_back({operation, edge});
  }
}

bool ProgramBuilder::chain_on(StreamId stream) const {
  return last_ == Operation::kNone || program_.operations[last_].stream == static_cast<std::uint16_t>(stream);
}

std::uint32_t ProgramBuilder::label(std::string_view name, program::Dimension dimension) {
  program::Label entry;
  entry.name = std::string(name);
  entry.dimension = dimension;
  entry.phase = context_.phase;
  entry.layer = context_.layer;
  entry.micro_batch = context_.micro_batch;
  entry.micro_batch_stride = context_.micro_batch_stride;
  entry.chunk = context_.chunk;
  const auto [found, is_new] = labels_.try_emplace(
      LabelKey{entry.name, static_cast<int>(entry.dimension), static_cast<int>(entry.phase), entry.layer,
               entry.micro_batch, entry.micro_batch_stride, entry.chunk},
      static_cast<std::uint32_t>(program_.labels.size()));
  if (is_new) {
    program_.labels.push_back(std::move(entry));
  }
  return found->second;
}

std::uint32_t ProgramBuilder::sequence(const Kernels& kernels) {
  for (std::uint32_t i = 0; i < program_.sequences.size(); ++i) {
    const program::KernelSequence& known = program_.sequences[i];
    const auto begin = program_.kernels.begin() + static_cast<std::ptrdiff_t>(known.first);
    if (known.count == kernels.size() && std::equal(kernels.begin(), kernels.end(), begin)) {
      return i;
    }
  }
  program_.sequences.push_back(
      {static_cast<std::uint32_t>(program_.kernels.size()), static_cast<std::uint32_t>(kernels.size())});
  program_.kernels.insert(program_.kernels.end(), kernels.begin(), kernels.end());
  return static_cast<std::uint32_t>(program_.sequences.size() - 1);
}

std::uint32_t ProgramBuilder::detail(collective::Kind kind) {
  for (std::uint32_t i = 0; i < program_.collectives.size(); ++i) {
    if (program_.collectives[i].kind == kind) {
      return i;
    }
  }
  program::CollectiveDetail entry;
  entry.kind = kind;
  program_.collectives.push_back(std::move(entry));
  return static_cast<std::uint32_t>(program_.collectives.size() - 1);
}

std::uint32_t ProgramBuilder::add(Operation operation,
                                  std::string_view name,
                                  program::Dimension dimension,
                                  Link link) {
  const auto index = static_cast<std::uint32_t>(program_.operations.size());
  if (link == Link::kChained && last_ != Operation::kNone &&
      program_.operations[last_].stream != operation.stream) {
    pending_.push_back({last_, program::EdgeKind::kFinishToStart});
  }
  operation.label = label(name, dimension);
  operation.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
  for (const program::Dependency& dependency : pending_) {
    const auto first = program_.dependencies.begin() + operation.first_dependency;
    if (std::find(first, program_.dependencies.end(), dependency) == program_.dependencies.end()) {
      program_.dependencies.push_back(dependency);
    }
  }
  operation.dependency_count =
      static_cast<std::uint16_t>(program_.dependencies.size() - operation.first_dependency);
  pending_.clear();
  program_.operations.push_back(operation);
  if (link == Link::kChained) {
    last_ = index;
  }
  return index;
}

namespace {

Operation on(StreamId stream, OpKind kind) {
  Operation operation;
  operation.kind = kind;
  operation.stream = static_cast<std::uint16_t>(stream);
  return operation;
}

std::int64_t whole_bytes(double bytes) {
  STEPCAST_CHECK(bytes >= 0 && bytes < 9.0e18, "{} bytes", bytes);
  return std::llround(bytes);
}

}  // namespace

std::uint32_t ProgramBuilder::compute(std::string_view name, const Kernels& kernels) {
  Operation operation = on(StreamId::kCompute, OpKind::kCompute);
  operation.target = sequence(kernels);
  return add(operation, name, program::Dimension::kNone, Link::kChained);
}

std::uint32_t ProgramBuilder::collective(std::string_view name,
                                         program::Dimension dimension,
                                         StreamId stream,
                                         std::uint32_t slot,
                                         collective::Kind kind,
                                         double bytes,
                                         DataType dtype,
                                         Link link) {
  Operation operation = on(stream, OpKind::kCollective);
  operation.target = slot;
  operation.detail = detail(kind);
  operation.bytes = whole_bytes(bytes);
  operation.dtype = dtype;
  return add(operation, name, dimension, link);
}

std::uint32_t ProgramBuilder::send(
    std::string_view name, StreamId stream, std::uint32_t slot, std::uint32_t tag, double bytes) {
  Operation operation = on(stream, OpKind::kSend);
  operation.target = slot;
  operation.detail = tag;
  operation.bytes = whole_bytes(bytes);
  operation.dtype = DataType::kBf16;
  return add(operation, name, program::Dimension::kPp, Link::kChained);
}

std::uint32_t ProgramBuilder::receive(
    std::string_view name, StreamId stream, std::uint32_t slot, std::uint32_t tag, double bytes) {
  Operation operation = on(stream, OpKind::kRecv);
  operation.target = slot;
  operation.detail = tag;
  operation.bytes = whole_bytes(bytes);
  operation.dtype = DataType::kBf16;
  return add(operation, name, program::Dimension::kPp, Link::kChained);
}

std::uint32_t ProgramBuilder::storage_write(std::string_view name, double bytes) {
  Operation operation = on(StreamId::kStorage, OpKind::kStorage);
  operation.target = 0;
  operation.flags = Operation::kWrite;
  operation.bytes = whole_bytes(bytes);
  return add(operation, name, program::Dimension::kNone, Link::kSide);
}

std::uint32_t ProgramBuilder::wait(std::string_view name, StreamId stream, Link link) {
  Operation operation = on(stream, OpKind::kDelay);
  operation.duration_ps = 0;
  return add(operation, name, program::Dimension::kNone, link);
}

void ProgramBuilder::begin_repeat(std::uint64_t count) {
  if (count == 1) {
    open_repeats_.push_back(Operation::kNone);
    return;
  }
  Operation operation;
  operation.kind = OpKind::kRepeat;
  operation.bytes = static_cast<std::int64_t>(count);
  open_repeats_.push_back(static_cast<std::uint32_t>(program_.operations.size()));
  program_.operations.push_back(operation);
}

void ProgramBuilder::end_chained_repeat() {
  STEPCAST_CHECK(!open_repeats_.empty(), "no open repeat in {}", program_.name);
  const std::uint32_t repeat = open_repeats_.back();
  if (repeat != Operation::kNone) {
    const std::uint16_t first = program_.operations[repeat + 1].stream;
    if (program_.operations[last_].stream != first) {
      wait("end of iteration", static_cast<StreamId>(first));
    }
  }
  end_repeat();
}

void ProgramBuilder::end_repeat() {
  STEPCAST_CHECK(!open_repeats_.empty(), "no open repeat in {}", program_.name);
  const std::uint32_t repeat = open_repeats_.back();
  open_repeats_.pop_back();
  if (repeat != Operation::kNone) {
    program_.operations[repeat].target = static_cast<std::uint32_t>(program_.operations.size() - repeat - 1);
  }
}

}  // namespace stepcast::workload
