import type { ClientOptions, RequestOptions } from './options.ts'
import { companyEvents, evidencePages, historyPages } from './paging.ts'
import type { EventsRequest, EvidenceFilter, HistoryRequest } from './paging.ts'
import { DEFAULT_RETRY } from './retry.ts'
import type { Fields } from './route.ts'
import { ROUTES } from './routes.ts'
import { assertHeader, send, type Settings } from './send.ts'
import type { CompanyEvent, EvidenceEvent, EvidenceListItem, Operations } from './types.ts'

/** A client of the service: a method for each endpoint, and lists that are read page by page. */
export interface Client extends Operations {
  /** Every evidence that matches, newest first. Requests the next page when it is needed. */
  evidences(filter?: EvidenceFilter, options?: RequestOptions): AsyncIterable<EvidenceListItem>
  /** Every event of an evidence, oldest first. Requests the next page when it is needed. */
  history(request: HistoryRequest, options?: RequestOptions): AsyncIterable<EvidenceEvent>
  /**
   * Every event of the company in the order of the log, then those that are recorded from now on, until the signal
   * aborts. It goes on after a restart of the server. Save the `cursor` of each event that you have processed.
   */
  events(request?: EventsRequest, options?: RequestOptions): AsyncIterable<CompanyEvent>
}

/**
 * Creates a client. It opens no connection.
 *
 * Each method is an endpoint, named as its operation in the OpenAPI document. Its first argument contains the
 * parameters and fields of the request, its second one is optional. A method rejects with an `EvidenceRegistryError` if
 * the service does not return a success.
 *
 * A failure that may pass is repeated after a random pause, if that is safe: reading requests, and writes that accept
 * an idempotency key, for which the client makes one.
 *
 * @throws a `TypeError` if `baseUrl` is not an http(s) address, or contains a user, a query or a fragment, or if
 *   `apiKey` cannot be sent in a header.
 * @example
 * const registry = createClient({ baseUrl: 'https://evidence.example/api/v1', companyId: 'acme', apiKey })
 * const { id, txId } = await registry.createEvidence({
 *   categoryName: 'Vehicles',
 *   subcategoryName: 'Cars',
 *   externalId: 'VIN-1',
 *   name: 'Golf',
 * })
 */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options)
  const methods = Object.entries(ROUTES).map(([name, route]) => [
    name,
    (request: Fields = {}, requestOptions: RequestOptions = {}) => send(settings, route, request, requestOptions),
  ])
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- both are made of the same document
  const operations = Object.fromEntries(methods) as Operations
  return {
    ...operations,
    evidences: (filter, requestOptions) => evidencePages(operations, filter, requestOptions),
    history: (request, requestOptions) => historyPages(operations, request, requestOptions),
    events: (request, requestOptions) =>
      companyEvents(operations, request, { ...requestOptions, retry: settings.retry }),
  }
}

/** Checks the options once, so that no request fails because of them. */
function settingsOf({ baseUrl, apiKey, companyId, retry, fetch: givenFetch }: ClientOptions): Settings {
  const { protocol, username, password, search, hash, href } = new URL(baseUrl)
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError('baseUrl must be an http or https address')
  if (username !== '' || password !== '' || search !== '' || hash !== '')
    throw new TypeError('baseUrl must not contain a user, a password, a query or a fragment')
  if (apiKey !== undefined) assertHeader('apiKey', apiKey)
  const base = href.replace(/\/+$/, '')
  return {
    baseUrl: base,
    rootUrl: base.replace(/\/api\/v1$/, ''),
    apiKey,
    companyId,
    retry: { ...DEFAULT_RETRY, ...retry },
    // Browsers call `fetch` only on their global object.
    fetch: givenFetch ?? ((url, init) => fetch(url, init)),
  }
}
