# What `cmake --install` puts where. The unit names the programs where the prefix of that moment has
# them.
include(GNUInstallDirs)

install(TARGETS celld DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS cellctl DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/man/celld.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES docs/man/cellctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/celld.json.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES config/completion/cellctl.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cellctl)
install(FILES config/completion/_cellctl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES config/completion/cellctl.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md docs/architecture.md docs/cellctl.md docs/configuration.md
  docs/operations.md config/celld.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/celld)
install(DIRECTORY config/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/celld)

set(units lib/systemd/system)  # Beside the programs' prefix, whatever the libraries' directory is.
install(FILES config/systemd/celld.socket DESTINATION ${units})
install(CODE "
  set(CELLD_SBIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR}\")
  configure_file(\"${CMAKE_SOURCE_DIR}/config/systemd/celld.service.in\"
    \"${CMAKE_BINARY_DIR}/generated/celld.service\" @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/generated/celld.service DESTINATION ${units})
