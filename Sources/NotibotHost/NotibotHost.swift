// NotibotHost
