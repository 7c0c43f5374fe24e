import Glibc
import Testing

@testable import SerialLink

@Suite struct UserFolderTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func `the variable wins over HOME, and relative paths count as unset`() {
    let home = ["HOME": "/h", "XDG_CACHE_HOME": "c"]
    #expect(UserFolder.cache.path(environment: home, user: 1) == "/h/.cache/notibot")
    #expect(UserFolder.data.path(environment: ["XDG_DATA_HOME": "/d"], user: 1) == "/d/notibot")
    #expect(UserFolder.configuration.path(environment: [:], user: 1) == nil)
  }

  @Test func `root leaves the folders of another user alone, as with sudo -E`() throws {
    let home = directory.file("home")
    mkdir(home, 0o700)
    if geteuid() == 0 { chown(home, 65534, 65534) }
    let found = UserFolder.cache.path(environment: ["HOME": home], user: 0)
    #expect(found?.hasPrefix(home) == false && found?.hasSuffix("/.cache/notibot") == true)
    #expect(UserFolder.cache.path(environment: ["HOME": "/"], user: 0) == "//.cache/notibot")
  }
}
