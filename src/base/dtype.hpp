#pragma once

#include <cstdint>
#include <string_view>

namespace stepcast {

/// Element type of a tensor or message.
enum class DataType : std::uint8_t { kInt8, kFp8, kFp16, kBf16, kInt32, kFp32, kInt64, kFp64, kByte };

/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t element_bytes(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kFp8:
    case DataType::kByte: return 1;
    case DataType::kFp16:
    case DataType::kBf16: return 2;
    case DataType::kInt32:
    case DataType::kFp32: return 4;
    case DataType::kInt64:
    case DataType::kFp64: return 8;
  }
  return 1;
}

/// Name as in our files: "fp16", "bf16", ...
[[nodiscard]] constexpr std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::kInt8: return "int8";
    case DataType::kFp8: return "fp8";
    case DataType::kFp16: return "fp16";
    case DataType::kBf16: return "bf16";
    case DataType::kInt32: return "int32";
    case DataType::kFp32: return "fp32";
    case DataType::kInt64: return "int64";
    case DataType::kFp64: return "fp64";
    case DataType::kByte: return "byte";
  }
  return "byte";
}

}  // namespace stepcast
