import Commands

/// `notibot`. Not top-level code, which opens descriptors before its first line.
@main enum Program {
  static func main() async {
    CommandLineProgram.begin()
    await Notibot.main()
  }
}
