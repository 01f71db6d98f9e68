include("${CMAKE_CURRENT_LIST_DIR}/holdfastTargets.cmake")
