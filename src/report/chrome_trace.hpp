#pragma once

#include <string>

#include "replay/predict.hpp"

namespace stepcast::report {

/// Writes the recorded timeline as Chrome trace JSON (opens in Perfetto and chrome://tracing):
/// a process per rank, a thread per stream, one complete event per operation that takes time, with its label
/// in `args`; waiting before a transfer is a separate event. Times in microseconds with picosecond decimals.
/// The file is written beside its final name and renamed, never half-written. Throws InputError when the file
/// cannot be written.
void write_chrome_trace(const replay::Run& run, const std::string& path);

}  // namespace stepcast::report
