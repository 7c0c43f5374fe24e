// Two requests with one client of the JDK, which asks for an upgrade to HTTP/2 in each: java TwoRequests.java URL
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

class TwoRequests {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (boolean expects : new boolean[] {false, true}) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0]))
                    .timeout(Duration.ofSeconds(20))
                    .expectContinue(expects)
                    .POST(HttpRequest.BodyPublishers.ofString("from Java"))
                    .build();
            System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
        }
    }
}
