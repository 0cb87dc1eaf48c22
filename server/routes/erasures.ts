import { ErasureInput, SubjectErasureInput } from '../../core/schemas/index.ts'
import { PageQuery } from '../contract/audit.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { AskedErasure, ErasedEvidence, ErasureDetails, ErasurePage } from '../contract/erasures.ts'
import { json } from '../contract/reply.ts'
import { ok, pageQuery } from '../contract/values.ts'

/** Removing values and files from evidences, with a receipt in the log. */
export const erasures: EndpointGroup = {
  tag: 'Erasures',
  description: 'Values and files that are removed for good',
  endpoints: [
    endpoint({
      id: 'eraseEvidence',
      method: 'POST',
      path: '/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}/erase',
      access: 'A',
      summary: 'Erase fields, files or the content of an evidence',
      description:
        'Removes values with their salts, and files with their names and bytes. Versions, txIds and proofs stay, and ' +
        'the log gets a receipt of its own. `fields` are erased in all `versions` that have them. `content` is all ' +
        'fields, all files and the external id: the evidence has its internal id as external id then, and the old one ' +
        'is free. What was erased before is not in the response. Nothing brings a value back. See `dryRun`.',
      body: { schema: ErasureInput, example: { fields: ['owner'], reason: 'request' } },
      conditional: 'version',
      response: { schema: ErasedEvidence },
      errors: ['EVIDENCE_NOT_FOUND', 'EXTERNAL_ID_EXISTS'],
      handle: async ({ registry, scope, param, input, options }) =>
        json({ ...ok, ...(await registry.evidences.erase(scope, param('EVIDENCE_EXTERNAL_ID'), input, options)) }),
    }),
    endpoint({
      id: 'eraseSubject',
      method: 'POST',
      path: '/evidences/{COMPANY_ID}/erase',
      access: 'A',
      summary: 'Erase an owner or a persona in all evidences',
      description:
        'Erases each `owner` and `personaName` that equals `subject`, compared as in the filter `owner`, in the ' +
        'background: `getErasure` shows what it found. Mentions in other texts are not found, and an event that is ' +
        'recorded meanwhile may be missed: erase the subject again, then. Each evidence gets a receipt of its own.',
      body: { schema: SubjectErasureInput, example: { subject: 'Ada Lovelace', reason: 'request', dryRun: true } },
      response: { status: 202, schema: AskedErasure },
      handle: async ({ registry, scope, input }) =>
        json({ ...ok, ...(await registry.evidences.eraseSubject(scope, input)) }),
    }),
    endpoint({
      id: 'getErasure',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/erasures/{ERASURE_ID}',
      access: 'A',
      queue: 'lists',
      summary: 'Get an erasure',
      description: 'That of a subject has its progress and what it found. The subject itself is in no response.',
      response: { schema: ErasureDetails },
      errors: ['ERASURE_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        json({ ...ok, ...(await registry.evidences.erasure(scope, param('ERASURE_ID'))) }),
    }),
    endpoint({
      id: 'listErasures',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/erasures',
      access: 'A',
      queue: 'lists',
      summary: 'List the erasures of a company, newest first',
      description: 'To continue, send the id of the last one as `last`. Texts that were erased are in none of them.',
      query: PageQuery,
      response: { schema: ErasurePage },
      async handle({ registry, scope, query }) {
        const { items, hasMore } = await registry.evidences.erasures(scope, pageQuery(query))
        return json({ erasures: items, isMore: hasMore })
      },
    }),
  ],
}
