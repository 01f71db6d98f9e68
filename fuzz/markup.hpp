// SPDX-License-Identifier: Apache-2.0
// Text inside HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::fuzz {

/// Text of an element or attribute.
inline std::string markup_text(std::string_view text) {
  std::string out;
  for (char const letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

}  // namespace holdfast::fuzz
