import * as lists from '../contract/evidence-list.ts'
import * as requests from '../contract/evidence-requests.ts'
import * as responses from '../contract/evidence-responses.ts'
import type { EvidencePage } from '../../core/index.ts'
import { Bundle, BUNDLE_MEDIA_TYPE } from '../../core/schemas/index.ts'
import { BundleQuery, bundleReply, bundleSelection, EXPORT_MEDIA_TYPE } from '../contract/bundles.ts'
import { endpoint, type EndpointGroup, type EndpointRequest, type FileSlot } from '../contract/endpoint.ts'
import type { PagePosition, ReplyText } from '../contract/reply-cache.ts'
import { FileListing } from '../contract/files.ts'
import { Overview, overview } from '../contract/overview.ts'
import { json, pages } from '../contract/reply.ts'

/** Files of a new evidence. Clients write the same field in different ways. */
const createSlots: readonly FileSlot[] = [
  { name: 'image' },
  { name: 'images', aliases: ['images.items', 'images[]'], many: true },
]
const updateSlots: readonly FileSlot[] = [
  { name: 'file' },
  { name: 'files', aliases: ['files.items', 'files[]'], many: true },
]

const example = { externalId: 'WVWZZZ1JZXW000001', name: 'Golf', owner: 'Ada', meta: { colour: 'blue' } }

const EVIDENCE = '/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}'
const CREATE_ERRORS = [
  'EXTERNAL_ID_EXISTS',
  'CATEGORY_NOT_FOUND',
  'SUBCATEGORY_NOT_FOUND',
  'CATEGORY_INACTIVE',
  'CATEGORY_MISMATCH',
] as const

/** Endpoints 8 to 13 of the contract. */
export const evidences: EndpointGroup = {
  tag: 'Evidences',
  description: 'Evidences, their histories and their files',
  endpoints: [
    endpoint({
      id: 'createEvidence',
      method: 'POST',
      path: '/evidences/{COMPANY_ID}/evidence',
      access: 'I',
      summary: 'Create an evidence',
      description:
        'Category and subcategory are given by id or by name; an id takes precedence, and `subcategoryId` alone is ' +
        'enough. A name that does not exist yet is created. `meta` is JSON text in a form. The text of `images` is a ' +
        'JSON array of titles for the files, or one title for all of them.',
      body: {
        schema: requests.NewEvidence,
        form: { slots: createSlots },
        example: { categoryName: 'Vehicles', subcategoryName: 'Cars', ...example },
      },
      idempotent: true,
      response: { status: 201, schema: responses.CreatedEvidence },
      errors: CREATE_ERRORS,
      async handle({ registry, scope, input, files, options, path }) {
        const evidence = await registry.evidences.create(scope, requests.newEvidence(input, sentFiles(files)), options)
        return json(responses.createdEvidence(evidence), {
          location: `${path}/${encodeURIComponent(input.externalId)}`,
        })
      },
    }),
    endpoint({
      id: 'createEvidences',
      method: 'POST',
      path: '/evidences/{COMPANY_ID}/category/{CATEGORY_ID}/subcategory/{SUBCATEGORY_ID}/evidences',
      access: 'I',
      queue: 'lists',
      summary: 'Create one evidence or many',
      description: 'One evidence as above, or as JSON `evidences`: up to 1,000 of them without files, all or none.',
      body: {
        schema: requests.EvidenceOrBulk,
        maxTextBytes: 4 * 1024 * 1024,
        form: {
          slots: createSlots,
          example: { ...example, externalId: 'WVWZZZ1JZXW000003', name: 'Up' },
        },
        choose: (fields) => (Object.hasOwn(fields, 'evidences') ? requests.BulkEvidences : requests.EvidenceInput),
        example: { evidences: [{ ...example, externalId: 'WVWZZZ1JZXW000002', name: 'Polo' }] },
      },
      idempotent: true,
      response: { status: 201, schema: responses.CreatedEvidences },
      errors: CREATE_ERRORS,
      async handle({ registry, scope, param, input, files, options, path }) {
        const target = { categoryId: param('CATEGORY_ID'), subcategoryId: param('SUBCATEGORY_ID') }
        const request = requests.newEvidences(input, target, sentFiles(files))
        const made = await registry.evidences.createMany(scope, request, options)
        return json(responses.createdEvidences(made, 'evidences' in input), { location: locationOfMany(input, path) })
      },
    }),
    endpoint({
      id: 'listEvidences',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/evidences',
      access: 'R',
      queue: 'lists',
      summary: 'List evidences, newest first',
      description:
        'The whole list, or with `len` a page of it. `last` is the id of the last item that you have; ' +
        '`count` is the number of all that match. With `q`, `externalId`, `owner`, `status`, `createdFrom`, ' +
        '`createdTo` or `sort`, the next page begins at `next` of the page before, and at most 10,000 ' +
        'matches are counted. All conditions must hold: one is looked up in an index, the others are applied ' +
        'to what it finds, and a page reads at most 10,000 index entries. So a page can have fewer than ' +
        '`len` items, or none, although `isMore` is true.',
      query: requests.EvidenceListQuery,
      response: { schema: lists.EvidenceList },
      handle({ registry, scope, query, target, pageCache }) {
        const selection = requests.evidenceQuery(query)
        if (query.len !== undefined)
          return pageCache.read(
            target,
            (cached) => registry.evidences.listIfChanged(scope, selection, cached),
            (page) => json(lists.evidenceList(page)),
          )
        const readPart = (position?: PagePosition): Promise<ReplyText> => {
          const limit = position === undefined ? FIRST_PAGE_LENGTH : PAGE_LENGTH
          return pageCache.read(
            // No target has a space.
            `${target} ${position?.cursor ?? position?.after ?? ''}`,
            (cached) => registry.evidences.listIfChanged(scope, { ...selection, ...position, limit }, cached),
            (page) =>
              Object.assign(json(lists.evidenceListPart(page, position === undefined)), {
                next: positionAfter(page),
                items: page.items.length,
                // Behind another evidence fewer are listed.
                count: selection.after === undefined ? page.count : 0,
              }),
          )
        }
        return pages(lists.evidenceListParts(readPart))
      },
    }),
    endpoint({
      id: 'getOverview',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/overview',
      access: 'R',
      summary: 'What a company has at a glance, and how far the log is',
      description:
        'Counts, creations per day, the evidences with the newest changes, and how far all entries of the log are ' +
        'on their way to a proof. `health` says whether this server works as it should.',
      response: { schema: Overview },
      handle: async ({ registry, scope, health }) =>
        json(overview(await registry.evidences.overview(scope), await health())),
    }),
    endpoint({
      id: 'listEvents',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/events',
      access: 'R',
      queue: 'lists',
      // However long the page may be: so many entries have at most as many events.
      isHeavy: async ({ after }, { registry, scope }) =>
        (await registry.evidences.entriesAfter(scope, after)) > NEWEST_ENTRIES,
      summary: 'The events of all evidences, in the order of the log',
      description:
        'A feed for webhooks, search engines and copies. Begin without `after`, and send the `cursor` of each page, ' +
        'or of the last event that you have processed, as `after` of the next request: so every event comes once, ' +
        'also with several servers and after a restart. A page may have fewer than `len` events, because it reads a ' +
        'limited part of the log, or none after 200 ms: `isMore` says whether to go on. With `wait`, a request at ' +
        'the end of the log is held until there is an event.',
      query: requests.EventsQuery,
      response: { schema: responses.EventsPage },
      async handle({ registry, scope, query, longPoll }) {
        const { wait = 0 } = query
        const selection = requests.eventQuery(query)
        let page = await registry.evidences.events(scope, selection)
        if (wait > 0 && page.events.length === 0 && !page.hasMore) {
          const { cursor } = page
          const after = await longPoll(wait * 1_000, (signal) => registry.evidences.nextEvent(scope, cursor, signal))
          page = await registry.evidences.events(scope, { ...selection, after })
        }
        return json(responses.eventsPage(page))
      },
    }),
    endpoint({
      id: 'getEvidence',
      method: 'GET',
      path: EVIDENCE,
      access: 'R',
      // An event can have 64 KiB.
      queue: 'lists',
      isHeavy: ({ len = 0, disclose = false }) => disclose || len > USUAL_HISTORY_LENGTH,
      summary: 'Get an evidence and a page of its history',
      description:
        '`last` is the version of the last event that you have (default 0), `len` the number of events to ' +
        'return (default 50, at most 500). `disclose=1` adds what is needed to recompute each txId.',
      query: requests.EvidencePageQuery,
      response: { schema: responses.EvidencePage, others: { 304: 'You have it already' } },
      errors: ['EVIDENCE_NOT_FOUND'],
      handle: ({ registry, scope, param, query, target, replyCache }) =>
        replyCache.read(
          target,
          (cached) =>
            registry.evidences.getIfChanged(scope, param('EVIDENCE_EXTERNAL_ID'), requests.historyQuery(query), cached),
          (page) => json(responses.evidencePage(page), { etag: responses.evidencePageTag(page) }),
        ),
    }),
    endpoint({
      id: 'getBundle',
      method: 'GET',
      path: `${EVIDENCE}/bundle`,
      access: 'R',
      queue: 'lists',
      summary: 'The proof bundle: one file that anyone can verify offline',
      description:
        'The whole history with its proofs. `fields` and `files` select what is disclosed to the reader of ' +
        'the file; everything else stays a hash. `versions` selects which versions are disclosed and stamped: ' +
        'a bundle has at most 32 MB. Check it with `evidence-registry verify`.',
      query: BundleQuery,
      response: { media: BUNDLE_MEDIA_TYPE, description: 'EXTERNAL_ID.evidence.json', content: Bundle },
      headers: ['Content-Disposition'],
      errors: ['EVIDENCE_NOT_FOUND', 'FILE_NOT_FOUND', 'BUNDLE_TOO_LARGE'],
      async handle({ registry, scope, param, query }) {
        const externalId = param('EVIDENCE_EXTERNAL_ID')
        const bundle = await registry.proofs.bundle(scope, { externalId, ...bundleSelection(query) })
        return bundleReply(bundle, externalId)
      },
    }),
    endpoint({
      id: 'exportEvidences',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/export',
      access: 'R',
      queue: 'lists',
      summary: 'All evidences of the company, each as a proof bundle with its whole history',
      description:
        'Lines of JSON: a first one with the counts, one for each evidence in the order of the ids, and a last one ' +
        'with the counts again and the SHA-256 of all before. An evidence whose last event is not sealed yet is ' +
        'counted as `unsealed`; one whose bundle cannot be made has a line with the reason. All fields and hashes of ' +
        'files are disclosed. Check it with `evidence-registry verify --export`.',
      response: { media: EXPORT_MEDIA_TYPE, description: 'COMPANY_ID.evidence.ndjson' },
      headers: ['Content-Disposition'],
      handle: async ({ registry, scope }) =>
        pages(registry.proofs.exportCompany(scope), {
          type: `${EXPORT_MEDIA_TYPE}; charset=utf-8`,
          fileName: `${scope.companyId}.evidence.ndjson`,
        }),
    }),
    endpoint({
      id: 'updateEvidence',
      method: 'PUT',
      path: EVIDENCE,
      access: 'U',
      summary: 'Update or transfer an evidence, and attach files',
      description:
        'Records up to three events in one step: the changed content, the transfer to another owner, the ' +
        'files. An empty value, null and an equal value change nothing; `clear` removes values. `actionType` ' +
        'sets the type of the content event. Without it, an `updateActionDescription` that is exactly one of ' +
        'its words (stolen, repair, custom, change; in upper or lower case) does the same: the remark ' +
        '`stolen` marks the evidence as stolen. To take that back, send `actionType=stolen` with ' +
        '`stolen=false`. `If-Match` is the version of the last event that you know, or the ETag of the ' +
        'evidence.',
      body: {
        schema: requests.EvidenceUpdate,
        form: { slots: updateSlots },
        example: { owner: 'Grace', eventDescription: 'Sold' },
      },
      idempotent: true,
      conditional: 'version',
      response: { schema: responses.UpdatedEvidence },
      errors: ['EVIDENCE_NOT_FOUND'],
      async handle({ registry, scope, param, input, files, options }) {
        const change = requests.evidenceChange(input, [...files('file'), ...files('files')])
        const events = await registry.evidences.update(scope, param('EVIDENCE_EXTERNAL_ID'), change, options)
        return json(responses.updatedEvidence(events))
      },
    }),
    endpoint({
      id: 'listEvidenceFiles',
      method: 'GET',
      path: `${EVIDENCE}/files`,
      access: 'R',
      // An evidence can have any number of files.
      queue: 'lists',
      summary: "List an evidence's files, its category's and its subcategory's",
      description: 'In the order in which they were attached. Deleted files are in no list.',
      response: { schema: FileListing },
      errors: ['EVIDENCE_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        json(responses.evidenceFiles(await registry.evidences.files(scope, param('EVIDENCE_EXTERNAL_ID')))),
    }),
  ],
}

/** The default of `len`. A request for more events is limited as a list. */
const USUAL_HISTORY_LENGTH = 50
/** A request that begins before these entries is not at the end of the log. So many are read at once. */
const NEWEST_ENTRIES = 256

/** The path of one evidence, or of the list of its subcategory. `path`: of the request. */
function locationOfMany(request: requests.EvidenceOrBulk, path: string): string {
  const [, company = '', subcategoryId = ''] =
    /^(.*)\/category\/[^/]+\/subcategory\/([^/]+)\/evidences$/.exec(path) ?? []
  if ('evidences' in request) return `${company}/evidences?subcategoryId=${subcategoryId}`
  return `${company}/evidence/${encodeURIComponent(request.externalId)}`
}

/** The first page of a whole list is short, so that its first byte is sent soon. */
const FIRST_PAGE_LENGTH = 100
const PAGE_LENGTH = 500

/** Where the page after this one begins; `undefined` if there is none. */
function positionAfter({ items, hasMore, next }: EvidencePage): PagePosition | undefined {
  if (next !== undefined) return { cursor: next }
  const last = items.at(-1)
  return hasMore && last !== undefined ? { after: last.id } : undefined
}

const sentFiles = (files: EndpointRequest['files']): requests.EvidenceFiles => ({
  image: files('image')[0],
  files: files('images'),
})
