import { useState } from 'preact/hooks'
import type { FileEntry } from '../../client/index.ts'
import { FormDialog } from '../components/dialog.tsx'
import { CheckField, FileField, TextField } from '../components/fields.tsx'
import { useForm, type Submission } from '../components/use-form.ts'
import { withoutEmpty } from '../format.ts'
import { hasLevel, useSession, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'

/** A category, or a subcategory if `subcategoryId` is set. */
export interface CategoryNode {
  readonly categoryId: string
  readonly subcategoryId?: string
  readonly name: string
  readonly description?: string
  readonly status: 'active' | 'inactive' | 'removed'
  readonly digitalTwinsCount: number
  readonly image: FileEntry | undefined
  /** Of a category. */
  readonly subcategoryCount: number
  readonly publicStatus?: boolean
}

type Change = Omit<Parameters<Session['client']['updateCategory']>[0], 'categoryId' | 'companyId'>

/** Both levels are changed by the same fields. */
function updateNode(
  { client }: Session,
  { categoryId, subcategoryId }: CategoryNode,
  { form, ...change }: Change & { readonly form: Submission },
): Promise<unknown> {
  const once = { idempotencyKey: form.keyOf(change) }
  return subcategoryId === undefined
    ? client.updateCategory({ categoryId, ...change }, once)
    : client.updateSubcategory({ categoryId, subcategoryId, ...change }, once)
}

interface DetailsProps {
  /** What is changed. Default: a new category, or a new subcategory of `categoryId`. */
  readonly node?: CategoryNode
  readonly categoryId?: string
  readonly onDone: () => unknown
}

/** Name, description and image of a new or an existing category. */
export function DetailsDialog({ node, categoryId, onDone }: DetailsProps) {
  const t = texts.categories
  const session = useSession()
  const form = useForm({ name: node?.name ?? '', description: node?.description ?? '' }, ['image', 'file'])
  const { name, description } = form.values
  const [image, setImage] = useState<File>()
  const wasPublic = node?.publicStatus
  const [isPublic, setPublic] = useState(wasPublic === true)
  const create = (): Promise<unknown> => {
    const fields = { name, ...withoutEmpty({ description }), ...(image && { image }) }
    const once = { idempotencyKey: form.keyOf(fields) }
    if (categoryId === undefined) return session.client.createCategory(fields, once)
    return session.client.createSubcategory({ categoryId, ...fields }, once)
  }
  /** Sends only what the user changed, so that nothing reverts what somebody else wrote. */
  const change = (existing: CategoryNode): Promise<unknown> => {
    return updateNode(session, existing, {
      form,
      ...withoutEmpty(form.changed),
      ...(form.changed.description === '' && { clear: ['description'] as const }),
      ...(image && { file: image }),
      ...(wasPublic !== undefined && wasPublic !== isPublic && { publicStatus: isPublic }),
    })
  }
  const createTitle = categoryId === undefined ? t.create : t.createSub
  return (
    <FormDialog
      title={node ? texts.editTitle(node.name) : createTitle}
      form={form}
      action={() => (node ? change(node) : create())}
      onDone={onDone}
    >
      <TextField label={texts.fields.name} isRequired {...form.props('name')} />
      <TextField label={texts.fields.description} rows={3} {...form.props('description')} />
      <FileField
        label={t.image}
        accept="image/*"
        onChange={([file]) => setImage(file)}
        problem={form.problemOf('image') ?? form.problemOf('file')}
      />
      {wasPublic !== undefined && hasLevel(session, 'A') && (
        <CheckField label={t.publicStatus} hint={t.publicStatusHint} isChecked={isPublic} onChange={setPublic} />
      )}
    </FormDialog>
  )
}

const ACTIONS = { activate: 'ACTIVATE', deactivate: 'DEACTIVATE', remove: 'REMOVE' } as const

interface ActionProps {
  readonly type: keyof typeof ACTIONS
  readonly node: CategoryNode
  readonly onDone: () => unknown
}

/** Asks before a category is activated, deactivated or removed. */
export function ActionDialog({ type, node, onDone }: ActionProps) {
  const t = texts.categories
  const session = useSession()
  const form = useForm({})
  return (
    <FormDialog
      title={type === 'remove' ? t.removeTitle(node.name) : `${t[type]}: ${node.name}`}
      intro={type === 'remove' && t.removeIntro}
      form={form}
      action={() => updateNode(session, node, { form, action: ACTIONS[type] })}
      submitText={t[type]}
      onDone={onDone}
    />
  )
}
