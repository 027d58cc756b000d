#pragma once

#include <stdexcept>
#include <string>

namespace stepcast {

/// Exit codes of the command (design 4.4).
inline constexpr int kExitOk = 0;
inline constexpr int kExitOutOfTolerance = 1;
inline constexpr int kExitInput = 2;
inline constexpr int kExitUnsupported = 3;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitOutput = 74;  ///< EX_IOERR of sysexits.h

/// The user's file or flag is wrong. The text holds one or several lines of the form
/// `FILE:LINE:COL: /json/pointer: problem; what to do`.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Valid input that the chosen model does not cover; the text names one that does.
class UnsupportedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A result could not be written: the disk is full, the reader is gone.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A defect of ours.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace stepcast
