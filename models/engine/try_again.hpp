// SPDX-License-Identifier: Apache-2.0
// What an engine does when a call says that the device failed.
#pragma once

#include <holdfast/result.hpp>

namespace holdfast::model {

/// Makes a call once more when the device failed: either nothing has changed, or it is refused from
/// now on.
template <typename Call>
Status try_again(Call call) noexcept {
  Status const first = call();
  if (first || first.error().code != ErrorCode::kDeviceFailed) {
    return first;
  }
  Status const second = call();
  return second || second.error().code != ErrorCode::kTainted ? second : first;
}

}  // namespace holdfast::model
