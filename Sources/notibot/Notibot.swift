import ArgumentParser

@main
struct Notibot: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notibot", abstract: "Speaks to Notibot boards over USB-serial, and stands in for one.")
}
