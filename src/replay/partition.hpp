#pragma once

#include <cstdint>
#include <vector>

#include "base/id.hpp"
#include "program/program.hpp"

namespace stepcast::replay {

/// Classes of ranks that behave the same, and of groups over them (design 2.2). The executor runs
/// one representative per class. A better partition only has to fill this type.
struct Partition {
  /// What one class of groups looks like from its representative.
  struct GroupClass {
    GroupId representative;
    std::uint32_t multiplicity = 1;           ///< groups in the class
    std::vector<ClassId> classes;             ///< distinct rank classes that take part
    std::vector<std::uint32_t> member_class;  ///< by member of the representative: index into `classes`
  };
  std::vector<ClassId> class_of;             ///< by rank
  IdVector<ClassId, RankId> representative;  ///< by class
  IdVector<ClassId, std::uint32_t> size;     ///< ranks in the class
  std::vector<GroupClass> group_classes;
  std::vector<std::uint32_t> group_class_of;  ///< by GroupId index
};

/// One class per rank: nothing is folded.
[[nodiscard]] Partition identity_partition(const program::Programs& programs);

}  // namespace stepcast::replay
