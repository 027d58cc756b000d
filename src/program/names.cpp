#include "program/program.hpp"

namespace stepcast::program {

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kCompute: return "compute";
    case OpKind::kCollective: return "collective";
    case OpKind::kSend: return "send";
    case OpKind::kRecv: return "recv";
    case OpKind::kPut: return "put";
    case OpKind::kGet: return "get";
    case OpKind::kCopy: return "copy";
    case OpKind::kStorage: return "storage";
    case OpKind::kDelay: return "delay";
    case OpKind::kLocal: return "local";
    case OpKind::kMark: return "mark";
    case OpKind::kAlloc: return "alloc";
    case OpKind::kFree: return "free";
    case OpKind::kRepeat: return "repeat";
  }
  return "unknown";
}

std::string_view name_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::kHost: return "host";
    case StreamKind::kCompute: return "compute";
    case StreamKind::kCommunication: return "communication";
    case StreamKind::kCopy: return "copy";
  }
  return "unknown";
}

std::string_view name_of(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kFinishToStart: return "finish_to_start";
    case EdgeKind::kStartToStart: return "start_to_start";
    case EdgeKind::kLaunch: return "launch";
  }
  return "unknown";
}

std::string_view name_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNone: return "none";
    case Dimension::kTp: return "tp";
    case Dimension::kCp: return "cp";
    case Dimension::kEp: return "ep";
    case Dimension::kDp: return "dp";
    case Dimension::kPp: return "pp";
  }
  return "unknown";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kNone: return "none";
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kWeight: return "weight";
    case Phase::kOptimizer: return "optimizer";
    case Phase::kCheckpoint: return "checkpoint";
  }
  return "unknown";
}

}  // namespace stepcast::program
