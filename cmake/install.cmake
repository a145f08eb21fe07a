# The install rules. The systemd unit is generated at install time, since it contains the prefix.
include(GNUInstallDirs)

install(TARGETS celld DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS cellctl DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/man/celld.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES docs/man/cellctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/celld.json.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES config/completion/cellctl.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cellctl)
install(FILES config/completion/_cellctl
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES config/completion/cellctl.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The documentation keeps its layout, so that the links between these files work.
set(documentation ${CMAKE_INSTALL_DATADIR}/doc/celld)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${documentation})
install(DIRECTORY docs DESTINATION ${documentation} PATTERN man EXCLUDE)
install(FILES config/celld.schema.json DESTINATION ${documentation}/config)
install(DIRECTORY config/examples config/grafana config/prometheus
  DESTINATION ${documentation}/config)

set(units lib/systemd/system)  # Not CMAKE_INSTALL_LIBDIR, which may be lib/TRIPLET or lib64.
install(FILES config/systemd/celld.socket DESTINATION ${units})
install(CODE "
  set(CELLD_SBIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR}\")
  configure_file(\"${CMAKE_SOURCE_DIR}/config/systemd/celld.service.in\"
    \"${CMAKE_BINARY_DIR}/generated/celld.service\" @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/generated/celld.service DESTINATION ${units})
