// SPDX-License-Identifier: Apache-2.0
// Nothing: a target that reads headers for others has a source.
