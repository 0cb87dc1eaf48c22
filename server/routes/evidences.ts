import type { EvidenceFiles } from '../../core/api/registry.ts'
import type { StagedFile } from '../../core/api/registry.ts'
import {
  EvidenceInput,
  EvidenceList,
  EvidenceListQuery,
  EvidencePage,
  EvidencePageQuery,
  EvidenceUpdate,
  FileListing,
  NewEvidence,
} from '../../core/registry/schemas.ts'
import { RegistryError } from '../../core/errors.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import {
  CreatedEvidenceAnswer,
  CreatedEvidencesAnswer,
  EvidenceBatch,
  EvidenceOrBatch,
  UpdatedEvidence,
} from '../contract/shapes.ts'
import type { FileSlot } from '../http/form.ts'

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
        'Category and subcategory are named by id or by name, an id wins; a name that does not exist yet is created. `meta` is JSON text in a form. The text of `images` is empty or a JSON array of titles for the files.',
      body: {
        schema: NewEvidence,
        form: { slots: createSlots, kinds: { meta: 'json' } },
        example: { categoryName: 'Vehicles', subcategoryName: 'Cars', ...example },
      },
      idempotent: true,
      answer: { status: 201, schema: CreatedEvidenceAnswer },
      errors: CREATE_ERRORS,
      async handle({ registry, scope, input, files, options }) {
        const created = await registry.evidences.create(scope, input, evidenceFiles(files), options)
        return { id: created.id, ...created.events[0], events: created.events }
      },
    }),
    endpoint({
      id: 'createEvidences',
      method: 'POST',
      path: '/evidences/{COMPANY_ID}/category/{CATEGORY_ID}/subcategory/{SUBCATEGORY_ID}/evidences',
      access: 'I',
      summary: 'Create one evidence or many',
      description: 'One evidence as above, or `evidences`: up to 1,000 of them without files, all or none.',
      body: {
        schema: EvidenceOrBatch,
        form: { slots: createSlots, kinds: { meta: 'json', evidences: 'json' } },
        choose: (fields) => (Object.hasOwn(fields, 'evidences') ? EvidenceBatch : EvidenceInput),
        example: { evidences: [example] },
      },
      idempotent: true,
      answer: { status: 201, schema: CreatedEvidencesAnswer },
      errors: CREATE_ERRORS,
      async handle({ registry, scope, param, input, files, options }) {
        const place = [param('CATEGORY_ID'), param('SUBCATEGORY_ID')] as const
        const given = evidenceFiles(files)
        if ('evidences' in input && given.image === undefined && given.files?.length === 0)
          return registry.evidences.createIn(scope, ...place, input.evidences, {}, options)
        if ('evidences' in input) throw new RegistryError('VALIDATION_ERROR', 'evidences takes no file beside it')
        const created = await registry.evidences.createIn(scope, ...place, [input], given, options)
        const { txId, version } = created.events[0] ?? {}
        return { ...created, txId, version }
      },
    }),
    endpoint({
      id: 'listEvidences',
      method: 'GET',
      path: '/evidences/{COMPANY_ID}/evidences',
      access: 'R',
      summary: 'List evidences, newest first',
      description: '`last` is the id of the last item that you have; `count` is the number of all that match.',
      query: EvidenceListQuery,
      answer: { schema: EvidenceList },
      handle: ({ registry, scope, query }) => registry.evidences.list(scope, query),
    }),
    endpoint({
      id: 'getEvidence',
      method: 'GET',
      path: EVIDENCE,
      access: 'R',
      summary: 'Get an evidence and a page of its history',
      description:
        '`last` is the version of the last event that you have (0), `len` how many to answer (50, at most 500). `disclose=1` adds what it takes to recompute each txId.',
      query: EvidencePageQuery,
      answer: { schema: EvidencePage },
      errors: ['EVIDENCE_NOT_FOUND'],
      handle: ({ registry, scope, param, query }) =>
        registry.evidences.get(scope, param('EVIDENCE_EXTERNAL_ID'), query),
    }),
    endpoint({
      id: 'updateEvidence',
      method: 'PUT',
      path: EVIDENCE,
      access: 'U',
      summary: 'Update or transfer an evidence, and attach files',
      description:
        'Records up to three events in one step: the changed content, the transfer to another owner, the files. An empty value clears, an equal one is no change. `If-Match` names the version of the last event that you know.',
      body: {
        schema: EvidenceUpdate,
        form: { slots: updateSlots, kinds: { meta: 'json', stolen: 'boolean' } },
        example: { owner: 'Grace', eventDescription: 'Sold' },
      },
      idempotent: true,
      conditional: true,
      answer: { schema: UpdatedEvidence },
      errors: ['EVIDENCE_NOT_FOUND', 'VERSION_CONFLICT'],
      async handle({ registry, scope, param, input, files, options }) {
        const attached = [...files('file'), ...files('files')]
        const { events } = await registry.evidences.update(
          scope,
          param('EVIDENCE_EXTERNAL_ID'),
          input,
          attached,
          options,
        )
        return { status: 'ok', events }
      },
    }),
    endpoint({
      id: 'listEvidenceFiles',
      method: 'GET',
      path: `${EVIDENCE}/files`,
      access: 'R',
      summary: "List an evidence's files, its category's and its subcategory's",
      answer: { schema: FileListing },
      errors: ['EVIDENCE_NOT_FOUND'],
      handle: ({ registry, scope, param }) => registry.evidences.files(scope, param('EVIDENCE_EXTERNAL_ID')),
    }),
  ],
}

function evidenceFiles(files: (slot: string) => readonly StagedFile[]): EvidenceFiles {
  const [image] = files('image')
  return { ...(image && { image }), files: files('images') }
}
