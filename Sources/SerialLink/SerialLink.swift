// SerialLink
