import { useState } from 'preact/hooks'
import type { CategoryList } from '../../client/index.ts'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, LongText } from '../components/values.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { CategoryDialog, type CategoryAction, type CategoryNode } from './category-dialogs.tsx'
import { FileImage } from './file-preview.tsx'

/** The tree of categories and subcategories. */
export function CategoriesPage() {
  const t = texts.categories
  const session = useSession()
  const { client } = session
  const list = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const [action, setAction] = useState<CategoryAction>()
  const close = (hasChanged: boolean): void => {
    setAction(undefined)
    if (hasChanged) list.reload()
  }
  return (
    <>
      <div class="head">
        <h1>{t.title}</h1>
        {hasLevel(session, 'I') && (
          <button class="primary" onClick={() => setAction({ type: 'create' })}>
            {t.create}
          </button>
        )}
      </div>
      <WhenLoaded of={list}>
        {({ categories }) =>
          categories.length === 0 ? (
            <Notice tone="pending">{t.empty}</Notice>
          ) : (
            <Tree categories={categories} onAction={setAction} />
          )
        }
      </WhenLoaded>
      {action && <CategoryDialog action={action} onClose={close} />}
    </>
  )
}

interface TreeProps {
  readonly categories: CategoryList['categories']
  readonly onAction: (action: CategoryAction) => void
}

/** Categories with their subcategories below them. */
function Tree({ categories, onAction }: TreeProps) {
  return (
    <ul class="rows card">
      {categories.map((category) => (
        <li key={category.id}>
          <Node node={{ ...category, categoryId: category.id }} onAction={onAction} />
          <ul class="rows tree-children">
            {category.subcategories.map((subcategory) => (
              <li key={subcategory.id}>
                <Node
                  node={{ ...subcategory, categoryId: category.id, subcategoryId: subcategory.id }}
                  onAction={onAction}
                />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

/** A category or subcategory with what the key may do to it. */
function Node({ node, onAction }: { readonly node: CategoryNode; readonly onAction: TreeProps['onAction'] }) {
  const t = texts.categories
  const session = useSession()
  const { name, status, digitalTwinsCount, categoryId, subcategoryId, imageId, description } = node
  const button = (type: 'edit' | 'activate' | 'deactivate' | 'remove') => (
    <button onClick={() => onAction({ type, node })} aria-label={`${t[type]}: ${name}`}>
      {t[type]}
    </button>
  )
  return (
    <>
      <div class="row">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        {status !== 'active' && <Badge tone="pending">{t.status[status]}</Badge>}
        <a
          href={hrefOf(['evidences'], { categoryId, ...(subcategoryId !== undefined && { subcategoryId }) })}
          aria-label={`${t.evidences(digitalTwinsCount)}: ${name}`}
        >
          {t.evidences(digitalTwinsCount)}
        </a>
        <span class="row end">
          {subcategoryId === undefined && hasLevel(session, 'I') && (
            <button onClick={() => onAction({ type: 'create', categoryId })} aria-label={`${t.createSub}: ${name}`}>
              {t.createSub}
            </button>
          )}
          {hasLevel(session, 'U') && (
            <>
              {button('edit')}
              {button(status === 'active' ? 'deactivate' : 'activate')}
              {button('remove')}
            </>
          )}
        </span>
      </div>
      {description && <LongText text={description} />}
      {imageId && <FileImage fileId={imageId} label={name} />}
    </>
  )
}
