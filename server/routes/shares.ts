import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { FILE_CONTENT } from '../contract/files.ts'
import { file, json } from '../contract/reply.ts'
import { CreatedShare, createdShare, NewShare, SharedEvidence, ShareList, shareList } from '../contract/shares.ts'
import { ok, Ok, withExpiry } from '../contract/values.ts'

const SHARES = '/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}/shares'
const SHARE = '/shares/{SHARE_ID}'

/** Links that show a part of an evidence to anyone who has them. */
export const shares: EndpointGroup = {
  tag: 'Shares',
  description: 'Links that disclose a part of an evidence',
  endpoints: [
    endpoint({
      id: 'createShare',
      method: 'POST',
      path: SHARES,
      access: 'R',
      summary: 'Make a link that discloses a part of an evidence',
      description:
        'Values and files are disclosed up to the present version; of later events only kind, status and time. ' +
        '`action`, `status` and `imageId` are always disclosed. Level R makes links of at most 30 days.',
      body: { schema: NewShare, example: { fields: ['name'], files: [] } },
      idempotent: true,
      response: { status: 201, schema: CreatedShare },
      errors: ['EVIDENCE_NOT_FOUND', 'FILE_NOT_FOUND', 'TOO_MANY_SHARES'],
      async handle({ registry, scope, param, input, options, dashboardUrl, path }) {
        const share = await registry.shares.create(scope, param('EVIDENCE_EXTERNAL_ID'), withExpiry(input), options)
        return json(createdShare(share, dashboardUrl()), { location: `${path}/${share.id}` })
      },
    }),
    endpoint({
      id: 'listShares',
      method: 'GET',
      path: SHARES,
      access: 'R',
      summary: 'List the links of an evidence',
      description: 'The open ones, and the last 100 that ended, newest first.',
      response: { schema: ShareList },
      errors: ['EVIDENCE_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        json(shareList(await registry.shares.list(scope, param('EVIDENCE_EXTERNAL_ID')))),
    }),
    endpoint({
      id: 'endShare',
      method: 'DELETE',
      path: `${SHARES}/{SHARE_ID}`,
      access: 'R',
      summary: 'End a link',
      description: 'At once. Level R ends its own links, level U any.',
      response: { schema: Ok },
      errors: ['EVIDENCE_NOT_FOUND', 'SHARE_NOT_FOUND'],
      async handle({ registry, scope, param }) {
        await registry.shares.end(scope, param('EVIDENCE_EXTERNAL_ID'), param('SHARE_ID'))
        return json(ok)
      },
    }),
    endpoint({
      id: 'openShare',
      method: 'GET',
      path: SHARE,
      access: 'share',
      // A bundle, as long as that of a key.
      queue: 'lists',
      summary: 'What a link discloses',
      description:
        'Built now, so it shows the present state. The secret of the link stands in `X-Share-Secret`. An ended, ' +
        'expired or unknown link and a wrong secret are the same 404.',
      response: { schema: SharedEvidence },
      errors: ['SHARE_NOT_FOUND', 'BUNDLE_TOO_LARGE'],
      handle: async ({ registry, param, shareSecret }) =>
        json(await registry.shares.open({ shareId: param('SHARE_ID'), secret: shareSecret })),
    }),
    endpoint({
      id: 'downloadSharedFile',
      method: 'GET',
      path: `${SHARE}/file/{FILE_ID}`,
      access: 'share',
      queue: 'downloads',
      summary: 'Download a file that a link discloses',
      description: 'Whole or one range, as the download of a file.',
      ...FILE_CONTENT,
      errors: ['SHARE_NOT_FOUND', 'FILE_NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
      async handle({ registry, param, shareSecret }) {
        const key = { shareId: param('SHARE_ID'), secret: shareSecret }
        const info = await registry.shares.file(key, param('FILE_ID'))
        return file({ file: info, mimeType: undefined, read: (range) => registry.files.read(info, range && { range }) })
      },
    }),
  ],
}
